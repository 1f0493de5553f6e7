"""Which GPUs of a machine each of its tasks may see, so that no two compute on one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from moxing.errors import MoxValueError

VARIABLE = "CUDA_VISIBLE_DEVICES"
NONE = "-1"
MOST = 64  # Of one process; the flag --num_gpus takes no more.
_DEVICES = Path("/dev")  # A container has those files only that belong to its GPUs.


def present(environ: Mapping[str, str]) -> list[str]:
    """What CUDA_VISIBLE_DEVICES may list here: its own value, or a number for each GPU."""
    given = environ.get(VARIABLE)
    if given is None:
        found = [path for path in _DEVICES.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
        return [str(index) for index in range(len(found))]
    names = [name.strip() for name in given.split(",")]
    # CUDA takes those before the first that is none.
    end = next((i for i, name in enumerate(names) if name in ("", NONE)), len(names))
    return names[:end]


def shares(workers: int, num_gpus: int | None, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """The variable for each worker of this machine; empty where there is no GPU.

    Args:
        workers: how many there are.
        num_gpus: of each; None: all GPUs are shared out evenly.
        environ: the environment, which may hide some.

    Raises:
        MoxValueError: there are not so many.
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
    """The variable that shows the `index`-th of equal parts."""
    return {VARIABLE: ",".join(names[index * each : (index + 1) * each]) or NONE}


def hidden(environ: Mapping[str, str]) -> dict[str, str]:
    """The variable for a task that computes on no GPU; empty where there is none anyway."""
    return {VARIABLE: NONE} if present(environ) else {}
