"""Tells how much memory this process can still take, on its machine and in its container."""

from __future__ import annotations

from pathlib import Path

_MACHINE = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")  # Version 2, or the mount of version 1's controllers.
# Limit, use, and the entry of memory.stat that counts files in the cache, which can be dropped.
_COUNTERS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)


def free_memory(machine: Path = _MACHINE, container: Path = _CONTAINER) -> int | None:
    """Returns the bytes of memory that are free, or that the kernel can free; None: unknown.

    Args:
        machine: the file of the kernel that describes the machine's memory.
        container: the folder of the control group of this process's container.
    """
    free = [] if (available := _entry(machine, "MemAvailable:")) is None else [available * 1024]
    for limit, use, stat, cached in _COUNTERS:
        try:
            left = int((container / limit).read_text()) - int((container / use).read_text())
        except (OSError, ValueError):  # No such controller, or the word "max": no limit.
            continue
        free.append(left + (_entry(container / stat, cached) or 0))
    return min(free, default=None)


def _entry(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    words = (line.split() for line in lines)
    return next((int(found[1]) for found in words if found and found[0] == name), None)
