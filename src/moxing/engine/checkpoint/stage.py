"""The place where a checkpoint is written before it is committed: a hidden directory beside it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PREFIX = ".mox-tmp-"
_STALE_SECONDS = 24 * 3600.0


@contextmanager
def stage(directory: str, prefix: str = _PREFIX) -> Iterator[str]:
    """An empty directory inside `directory`, so that a rename leads out; it ends with the block."""
    name = f"{prefix}{os.getpid()}@{_host()}."
    path = tempfile.mkdtemp(prefix=name, dir=directory)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(directory: str, own: str, prefix: str = _PREFIX) -> None:
    """Removes the stages that killed runs left behind.

    Args:
        directory: whose lock this run holds.
        own: the stage in use. Another one that bears this process's number is a dead one's too:
            in a container every run may be process 1.
        prefix: of their names.
    """
    form = re.compile(re.escape(prefix) + r"(\d+)@(.*)\.[^.]+")
    for name in os.listdir(directory):
        match = form.fullmatch(name)
        path = os.path.join(directory, name)
        if match and path != own and _is_dead(path, int(match[1]), match[2]):
            shutil.rmtree(path, ignore_errors=True)


def _is_dead(path: str, pid: int, host: str) -> bool:
    if host == _host():
        return pid == os.getpid() or not _alive(pid)
    try:
        return time.time() - os.stat(path).st_mtime > _STALE_SECONDS
    except OSError:
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _host() -> str:
    return re.sub(r"[^\w.-]", "_", socket.gethostname())
