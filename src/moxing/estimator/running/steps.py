"""The limits of a training: how far the global step goes, and each worker."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable

from moxing.engine.job.job import Job
from moxing.engine.job.placement import ProcessGroup
from moxing.engine.process import team

# A limit that no run reaches: it ends with its data.
ENDLESS = sys.maxsize


def of_worker(max_steps: int | None, group: ProcessGroup) -> int:
    """What a Job has as `max_steps`, so that the global step ends at that number.

    Workers that do not update together count their own steps, and the global step those of all.

    Args:
        max_steps: of the global step; None: there is no limit.
        group: the processes of the job.
    """
    limit = ENDLESS if max_steps is None else max_steps
    return -(-limit // _counting(group))


def total(max_steps: int | None, group: ProcessGroup) -> int:
    """Where the global step of such a training ends: each worker makes whole steps."""
    return of_worker(max_steps, group) * _counting(group)


def counted_from_here(job: Job, steps: int, here: Callable[[], int]) -> Job:
    """The job, to end so many steps after the newest checkpoint of the chief.

    Args:
        job: a training.
        steps: how many.
        here: the global step of the newest checkpoint; asked in the chief only.
    """
    if job.group.alone:
        return dataclasses.replace(job, max_steps=here() + steps)
    crew = team.enter(job.group)
    known = crew.agree({"step": here()} if crew.cluster.is_chief else None)
    limit = of_worker(int(known["step"]) + steps, job.group)
    return dataclasses.replace(job, max_steps=limit)


def _counting(group: ProcessGroup) -> int:
    return 1 if group.synchronous else group.size
