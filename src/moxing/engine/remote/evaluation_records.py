"""Keeps an evaluation's records from taking the place of those of a training beside it."""

from __future__ import annotations

import os
from contextlib import suppress

from moxing.engine.wording.record_files import METRICS, REPORT
from moxing.framework import file
from moxing.logs import TENSORFLOW

_Stamp = tuple[int, int]  # Size and time of change.


def stamp(remote: str) -> _Stamp | None:
    """What tells whether the metrics in a directory elsewhere are those of before."""
    try:
        found = file.stat(f"{remote}/{METRICS}")
    except OSError:
        return None
    return found.length, found.mtime_nsec


def withdraw(remote: str, local: str, before: _Stamp | None) -> None:
    """Removes the metrics and the report here if those elsewhere have changed since `before`.

    A file in a store is written as a whole: these would be without what a training wrote meanwhile.
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
