"""Tells processes of this machine apart, also where their numbers are used again."""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import socket


@functools.cache
def machine() -> str:
    """Names what process numbers are unique in: one boot of a machine, and one container there."""
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
