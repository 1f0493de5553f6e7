"""Temporary folders that say in their names which process owns them, and whether it still lives.

A process number alone says little: two containers have equal numbers (and may have equal host
names), and numbers are used again. An owner is therefore a number, the time at which its process
began, and the boot and the namespace in which both are counted.
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
    """Names the counter of process numbers: one boot of a machine, and one container there."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            boot = stream.read().strip()
        known = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        known = f"{socket.gethostname()} {secrets.token_hex(8)}"  # Equal to no other.
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def started(pid: int) -> str:
    """When a process began, in ticks since the boot; empty where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


@dataclass(frozen=True)
class Owner:
    """A process, told apart from all others that ever had its number.

    Attributes:
        pid: its number.
        started: when it began, in ticks since the boot.
        machine: what the number and the time are counted in.
    """

    pid: int
    started: str
    machine: str

    @classmethod
    def this_process(cls) -> Owner:
        """The process that asks."""
        return cls(os.getpid(), started(os.getpid()), machine())

    @classmethod
    def read(cls, text: str) -> Owner | None:
        """The owner that a text such as `str(owner)` names; None: it names no owner."""
        match = _OWNER.fullmatch(text)
        return cls(int(match[1]), match[2], match[3]) if match else None

    def __str__(self) -> str:
        return f"{self.pid}-{self.started}-{self.machine}"

    def has_ended(self) -> bool | None:
        """Whether the process is gone; None: it is not of this machine, so nobody here knows."""
        if self.machine != machine():
            return None
        return not self.started or started(self.pid) != self.started


@contextmanager
def owned_folder(parent: str, prefix: str) -> Iterator[str]:
    """An empty folder in `parent` whose name says that this process owns it.

    The folder ends with the block; `sweep` removes it where the process was killed inside.
    """
    path = tempfile.mkdtemp(prefix=f"{prefix}{Owner.this_process()}.", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(parent: str, prefix: str, keep: str = "", stale_seconds: float | None = None) -> None:
    """Removes the folders of `owned_folder` whose owners were killed.

    Args:
        parent: the folder they are in.
        prefix: of their names.
        keep: the path of a folder that stays in any case.
        stale_seconds: the age in seconds from which a folder of another machine, or of an owner
            that its name does not tell, counts as left; None: such a folder stays.
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
