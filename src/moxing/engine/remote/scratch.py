"""Local space for a run whose directories are elsewhere; it ends with the run."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from moxing.engine.remote.process_id import machine, started

_NAME = re.compile(r"\.mox-room-(\d+)-(\d*)-([0-9a-f]+)\..*")


@contextmanager
def room(parent: str) -> Iterator[str]:
    """An empty directory in `parent`. Those that killed runs of this machine left are removed."""
    own = f".mox-room-{os.getpid()}-{started(os.getpid())}-{machine()}."
    for name in os.listdir(parent):
        match = _NAME.fullmatch(name)
        if match and match[3] == machine() and (not match[2] or started(int(match[1])) != match[2]):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    path = tempfile.mkdtemp(prefix=own, dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
