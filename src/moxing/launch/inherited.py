"""What a platform says of the process that it started, which is none of a launcher's own tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_PLATFORM = re.compile(r"TF_CONFIG$|(VC|MA|BATCH|DLS|SLURM)_")
# Where folders are is as true for the tasks: DLS_LOCAL_CACHE_PATH, MA_JOB_DIR, SLURM_SUBMIT_DIR.
_FOLDER = re.compile(r"(DIR|PATH)$")


def foreign(environ: Mapping[str, str]) -> list[str]:
    """The variables of an environment by which tasks would take themselves for others.

    Within a pod or a notebook, they describe that one's cluster: with them each task would be told
    two different things, or all of them the same.
    """
    names = (name for name, value in environ.items() if value)
    return sorted(name for name in names if _PLATFORM.match(name) and not _FOLDER.search(name))


def described(names: Iterable[str]) -> str:
    """Variables in a few words: those with the same beginning as one, `SLURM_*`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition("_")[0], []).append(name)
    return ", ".join(found[0] if len(found) == 1 else f"{key}_*" for key, found in groups.items())
