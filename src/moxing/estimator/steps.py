"""The limit of a training that is told how many steps to make from here on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from moxing.engine import team
from moxing.engine.job import Job


def counted_from_here(job: Job, steps: int, here: Callable[[], int]) -> Job:
    """The job, to end so many steps after the newest checkpoint of the chief.

    Args:
        job: a training.
        steps: how many.
        here: the global step of the newest checkpoint; asked in the chief only.
    """
    if job.cluster is None or job.cluster.alone:
        return dataclasses.replace(job, max_steps=here() + steps)
    crew = team.enter(job)
    known = crew.agree({"step": here()} if crew.cluster.is_chief else None, job)
    return dataclasses.replace(job, max_steps=int(known["step"]) + steps)
