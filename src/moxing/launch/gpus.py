"""Shares the GPUs of a machine among its tasks, so that no two tasks use the same GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from moxing.errors import MoxValueError

VARIABLE = "CUDA_VISIBLE_DEVICES"
NONE = "-1"
MOST = 64  # Most GPUs of one process; the flag --num_gpus takes no more.
_DEVICES = Path("/dev")  # A container has only the device files of its own GPUs.


def present(environ: Mapping[str, str]) -> list[str]:
    """Returns the GPUs for CUDA_VISIBLE_DEVICES: those that it lists, or the number of each GPU."""
    given = environ.get(VARIABLE)
    if given is None:
        found = [path for path in _DEVICES.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
        return [str(index) for index in range(len(found))]
    names = [name.strip() for name in given.split(",")]
    # CUDA uses the entries before the first invalid one.
    end = next((i for i, name in enumerate(names) if name in ("", NONE)), len(names))
    return names[:end]


def shares(workers: int, num_gpus: int | None, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """Returns CUDA_VISIBLE_DEVICES for each worker of this machine; empty without a GPU.

    Args:
        workers: the number of workers.
        num_gpus: GPUs of each worker; None to share all GPUs evenly.
        environ: the environment, which may hide some GPUs.

    Raises:
        MoxValueError: the machine has too few GPUs.
    """
    found = present(environ)
    if not found:
        return [{}] * workers
    each = max(len(found) // workers, 1) if num_gpus is None else num_gpus
    if workers * each > len(found):
        raise MoxValueError(
            f"{workers} workers with {each} GPUs each need {workers * each}, but this machine has"
            f" {len(found)} ({','.join(found)}). Lower --num_gpus; 0 computes on the CPU."
        )
    return [slice_of(found, index, each) for index in range(workers)]


def slice_of(names: list[str], index: int, each: int) -> dict[str, str]:
    """Returns the variable that shows the `index`-th of equal parts of the GPUs."""
    return {VARIABLE: ",".join(names[index * each : (index + 1) * each]) or NONE}


def hidden(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that hides all GPUs from a task; empty if there is no GPU."""
    return {VARIABLE: NONE} if present(environ) else {}
