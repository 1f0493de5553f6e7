"""Temporary folders whose names identify their owner process, to tell whether it still runs.

A process id alone is not unique: two containers have equal ids (and may have equal host names), and
ids are reused. So an owner consists of a process id, the start time of the process, and the boot
and the PID namespace to which both belong.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_OWNER = re.compile(r"(\d{1,19})-(\d*)-([0-9a-f]{16})")


@functools.cache
def machine() -> str:
    """Returns an identifier of the PID namespace: one boot of a machine, and one container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            boot = stream.read().strip()
        known = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        known = f"{socket.gethostname()} {secrets.token_hex(8)}"  # This is unique.
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def started(pid: int) -> str:
    """Returns the start time of a process, in ticks since the boot; "" if it does not exist."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


@dataclass(frozen=True)
class Owner:
    """A process, distinguished from all others that ever had the same process id.

    Attributes:
        pid: the process id.
        started: the start time, in ticks since the boot.
        machine: the identifier of the boot and PID namespace; see the function `machine`.
    """

    pid: int
    started: str
    machine: str

    @classmethod
    def this_process(cls) -> Owner:
        """Returns the current process."""
        return cls(os.getpid(), started(os.getpid()), machine())

    @classmethod
    def read(cls, text: str) -> Owner | None:
        """Parses the result of `str(owner)`; None: the text names no owner."""
        match = _OWNER.fullmatch(text)
        return cls(int(match[1]), match[2], match[3]) if match else None

    def __str__(self) -> str:
        return f"{self.pid}-{self.started}-{self.machine}"

    def has_ended(self) -> bool | None:
        """Whether the process has ended; None: unknown, because it is on another machine."""
        if self.machine != machine():
            return None
        return not self.started or started(self.pid) != self.started


@contextmanager
def owned_folder(parent: str, prefix: str) -> Iterator[str]:
    """In the block, an empty folder in `parent` whose name identifies this process as its owner.

    The folder is removed at the end of the block; `sweep` removes it if the process was killed.
    """
    path = tempfile.mkdtemp(prefix=f"{prefix}{Owner.this_process()}.", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def make_folder(parent: str, prefix: str) -> str:
    """Makes an empty folder in `parent` whose name identifies this process as its owner.

    Unlike `owned_folder`, the folder has the permissions of any new folder, because the caller
    renames it once it is complete. `sweep` removes it if the process was killed before.
    """
    path = os.path.join(parent, f"{prefix}{Owner.this_process()}.{secrets.token_hex(4)}")
    os.mkdir(path)
    return path


def sweep(parent: str, prefix: str, keep: str = "", stale_seconds: float | None = None) -> None:
    """Removes the folders of `owned_folder` and `make_folder` whose owners were killed.

    Args:
        parent: the folder that contains them.
        prefix: the prefix of their names.
        keep: the path of a folder that is never removed.
        stale_seconds: the age in seconds from which a folder of another machine, or of an unknown
            owner, counts as left behind; None: such a folder is kept.
    """
    form = re.compile(re.escape(prefix) + r"(.*)\.[^.]+")
    for name in os.listdir(parent):
        match, path = form.fullmatch(name), os.path.join(parent, name)
        if match and path != keep and _is_left(path, Owner.read(match[1]), stale_seconds):
            shutil.rmtree(path, ignore_errors=True)


def _is_left(path: str, owner: Owner | None, stale_seconds: float | None) -> bool:
    ended = owner.has_ended() if owner is not None else None
    if ended is not None or stale_seconds is None:
        return bool(ended)
    try:
        return time.time() - os.stat(path).st_mtime > stale_seconds
    except OSError:
        return False
