"""Measures the largest resident memory of this process, anew for each part of its work."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

_KIB = 1024
_OWN = Path("/proc/self")


def begin() -> None:
    """Starts a new measurement, where the kernel can: on Linux."""
    with contextlib.suppress(OSError):
        (_OWN / "clear_refs").write_text("5")


def peak() -> int:
    """Returns the largest resident memory since `begin`, or since the process started, in bytes."""
    if (found := _entry("VmHWM:")) is not None:
        return found
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * _KIB


def now() -> int:
    """Returns the resident memory, in bytes; where it is not known, the largest so far."""
    found = _entry("VmRSS:")
    return peak() if found is None else found


def _entry(name: str) -> int | None:
    try:
        lines = (_OWN / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * _KIB for line in lines if line.startswith(name)), None)
