"""Keeps an evaluation's records from replacing those of a training at the same time."""

from __future__ import annotations

import os
from contextlib import suppress

from moxing.engine.wording.record_files import METRICS, REPORT
from moxing.framework import file
from moxing.logs import TENSORFLOW

_Stamp = tuple[int, int]  # Size and time of the last change.


def stamp(remote: str) -> _Stamp | None:
    """Returns size and time of a remote directory's metrics, by which a change is noticed."""
    try:
        found = file.stat(f"{remote}/{METRICS}")
    except OSError:
        return None
    return found.length, found.mtime_nsec


def withdraw(remote: str, local: str, before: _Stamp | None) -> None:
    """Removes the local metrics and report if the remote metrics have changed since `before`.

    A store replaces whole files: an upload would drop the lines that a training wrote meanwhile.
    """
    if stamp(remote) == before:
        return
    for name in (METRICS, REPORT):
        with suppress(FileNotFoundError):
            os.remove(os.path.join(local, name))
    TENSORFLOW.warning(
        "A training has written to %s/%s meanwhile: this evaluation is not added to it.",
        remote,
        METRICS,
    )
