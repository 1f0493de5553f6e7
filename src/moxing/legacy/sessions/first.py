"""Gives notices, and answers `--dry_run`, as a program begins to train in sessions of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from moxing import notices
from moxing.errors import MoxNotSupportedError
from moxing.flags import rehearsal
from moxing.logs import TENSORFLOW

_REFUSED = (
    "--dry_run makes short runs of mox.run, Estimators and moxing.keras.fit, which save into a"
    " scratch folder. This program trains in {}, whose steps, saves and folders are its own:"
    " nothing was trained. Leave --dry_run out, and give the program few steps and a folder of"
    " their own instead."
)
_WARNED = (
    "--dry_run shortens none of the steps that a program makes in sessions of its own, as it does"
    " from here on, and they write their own files. Ctrl-C ends the program."
)


def install() -> None:
    """From now on the first session of a program is a first run too.

    A misspelled flag ends the program before it trains, and --dry_run does not let it train as if
    the flag had not been given.
    """
    import tensorflow.compat.v1 as tf
    from tensorflow.python.client import session

    before(session.BaseSession, "__init__", _begin)
    for kind, name in (
        (tf.train.MonitoredSession, "a session of tf.train"),
        (tf.train.SingularMonitoredSession, "a session of tf.train"),
        (tf.train.Supervisor, "tf.train.Supervisor"),
    ):
        before(kind, "__init__", functools.partial(refuse, name))


def refuse(name: str) -> None:
    """Refuses --dry_run, where no run has read it, for a training that can't be shortened.

    Args:
        name: the part that trains, such as "Model.fit".

    Raises:
        MoxNotSupportedError: the flag was given.
    """
    if rehearsal.unread():
        rehearsal.wanted()  # Now the flag has been answered.
        raise MoxNotSupportedError(_REFUSED.format(name))


def before(kind: Any, method: str, work: Callable[[], None]) -> None:
    """Calls a function before each call of a method of a class, once for a class."""
    inner = getattr(kind, method)
    if hasattr(inner, _MARK):
        return

    @functools.wraps(inner)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        work()
        return inner(self, *arguments, **keywords)

    setattr(call, _MARK, True)
    setattr(kind, method, call)


_MARK = "mox_first"
_warned: list[bool] = []


def _begin() -> None:
    notices.give()
    if rehearsal.unread() and not _warned:
        _warned.append(True)
        TENSORFLOW.warning(_WARNED)
