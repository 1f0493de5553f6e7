"""A temporary local directory for a run with remote directories; it is removed with the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moxing.framework import owners

_PREFIX = ".mox-room-"


@contextmanager
def room(parent: str) -> Iterator[str]:
    """Makes a directory in `parent`, and removes those of killed runs of this machine."""
    owners.sweep(parent, _PREFIX)
    with owners.owned_folder(parent, _PREFIX) as path:
        yield path
