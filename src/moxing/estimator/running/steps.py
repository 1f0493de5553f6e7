"""Computes the step limits of a training, for the global step and for each worker."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable

from moxing.engine.job.job import Job
from moxing.engine.job.placement import ProcessGroup
from moxing.engine.process import team

# A limit that no run reaches, for runs that end with their data.
ENDLESS = sys.maxsize


def of_worker(max_steps: int | None, group: ProcessGroup) -> int:
    """Returns a Job's `max_steps` for a training that ends at a global step.

    In asynchronous training, each worker counts its own steps, and the global step is the sum.

    Args:
        max_steps: the limit of the global step; None: no limit.
        group: the processes of the job.
    """
    limit = ENDLESS if max_steps is None else max_steps
    return -(-limit // _counting(group))


def total(max_steps: int | None, group: ProcessGroup) -> int:
    """Returns the global step at which a training ends.

    In asynchronous training, `max_steps` is rounded up to a multiple of the number of workers.
    """
    return of_worker(max_steps, group) * _counting(group)


def counted_from_here(job: Job, steps: int, here: Callable[[], int]) -> Job:
    """Returns the job with a limit `steps` after the chief's newest checkpoint.

    Args:
        job: a training job.
        steps: the number of steps to train.
        here: returns the global step of the newest checkpoint; called in the chief only.
    """
    if job.group.alone:
        return dataclasses.replace(job, max_steps=here() + steps)
    crew = team.enter(job.group)
    known = crew.agree({"step": here()} if crew.cluster.is_chief else None)
    limit = of_worker(int(known["step"]) + steps, job.group)
    return dataclasses.replace(job, max_steps=limit)


def _counting(group: ProcessGroup) -> int:
    return 1 if group.synchronous else group.size
