"""Computes how many connections a process may have at once, from its limit of open files."""

from __future__ import annotations

import contextlib
import os

from moxing.errors import MoxRuntimeError

_MOST_STRANGERS, _ENOUGH_STRANGERS, _FEWEST_STRANGERS = 1024, 128, 8
_OTHERS = 64  # Files of TensorFlow, of the data and of the logs.


def room_for_strangers(tasks: int) -> int:
    """Returns how many unknown connections there may be, beside the connections of tasks.

    Raises the process's limit of open files if that is necessary and allowed.

    Raises:
        MoxRuntimeError: the limit is too low for the tasks.
    """
    import resource  # Windows has no such module.

    used = _open_files() + tasks + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST_STRANGERS
    if soft < used + _ENOUGH_STRANGERS:
        wanted = used + _ENOUGH_STRANGERS
        soft = wanted if hard == resource.RLIM_INFINITY else max(soft, min(hard, wanted))
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = soft - used
    if room < _FEWEST_STRANGERS:
        raise MoxRuntimeError(
            f"This process may have {soft} files open (ulimit -n), which is too few: it needs a"
            f" connection to each of the {tasks} other tasks, and about {used - tasks} files"
            f" beside. Raise the limit to {used + _ENOUGH_STRANGERS}."
        )
    return min(room, _MOST_STRANGERS)


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return _OTHERS
