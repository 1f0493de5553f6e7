"""Local space for a run whose directories are elsewhere; it ends with the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moxing.framework import owners

_PREFIX = ".mox-room-"


@contextmanager
def room(parent: str) -> Iterator[str]:
    """An empty directory in `parent`. Those that killed runs of this machine left are removed."""
    owners.sweep(parent, _PREFIX)
    with owners.owned_folder(parent, _PREFIX) as path:
        yield path
