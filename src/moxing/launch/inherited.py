"""Finds platform variables about a launcher's process that its tasks must not inherit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_PLATFORM = re.compile(r"TF_CONFIG$|(VC|MA|BATCH|DLS|SLURM)_")
# Paths of folders hold for the tasks, too: DLS_LOCAL_CACHE_PATH, MA_JOB_DIR, SLURM_SUBMIT_DIR.
_FOLDER = re.compile(r"(DIR|PATH)$")


def foreign(environ: Mapping[str, str]) -> list[str]:
    """Returns the variables of an environment that would give tasks a wrong identity.

    In a pod or a notebook, these variables describe its own cluster: a task that inherited them
    would have two contradictory descriptions, or all tasks the same one.
    """
    names = (name for name, value in environ.items() if value)
    return sorted(name for name in names if _PLATFORM.match(name) and not _FOLDER.search(name))


def described(names: Iterable[str]) -> str:
    """Words a list of variables; those with one prefix are grouped as `SLURM_*`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition("_")[0], []).append(name)
    return ", ".join(found[0] if len(found) == 1 else f"{key}_*" for key, found in groups.items())
