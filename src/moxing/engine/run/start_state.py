"""What all processes of a run start from: the chief looks, and the others take its word."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass

from moxing.engine import checkpoint
from moxing.engine.checkpoint import Checkpoint
from moxing.engine.job.job import Job
from moxing.engine.process.solo import Solo
from moxing.engine.wording import report

# What a commit says beside the variables, under this key of its manifest.
INPUT_ENDED = "input_ended_with_max_steps"
INPUT_STEPS = "input_steps"
INPUT_TAKEN = "input_elements"
INPUT_ORDER = "input_order"
INPUT_PIPELINES = "input_pipelines"
INPUT_WORKERS = "input_workers"


@dataclass(frozen=True)
class StartState:
    """What the chief found out before the first step.

    Attributes:
        finished: whether an earlier run did all there is to do.
        step: the global step of the checkpoint it starts from.
        input_steps: steps whose data the run that is resumed took from its input.
        taken: the number of elements of that data, of all processes together.
        workers: how many processes took it; 0: unknown.
        ended: whether that data ended, so that a run that goes on reads it once more.
        order: what the order of data is drawn from: the same as in the run that is resumed.
        saves: whether it is saved.
    """

    finished: bool
    step: int
    input_steps: int
    taken: int
    workers: int
    ended: bool
    order: int
    saves: bool


def agree(job: Job, start: Checkpoint | None, finished: bool, team: Solo) -> StartState:
    """The chief's findings, in every process."""
    step = start.step or 0 if start is not None else 0
    saves = job.training and job.log_dir is not None
    resumes = job.training and start is not None and start.resume
    extra = checkpoint.read_extra(start) if start is not None and start.resume else {}
    steps = int(extra.get(INPUT_STEPS, 0)) if resumes else 0
    taken = int(extra.get(INPUT_TAKEN, steps * elements(job))) if resumes else 0
    order = extra.get(INPUT_ORDER)
    order = secrets.randbits(62) if order is None else int(order)
    workers = int(extra.get(INPUT_WORKERS, 0))
    found = StartState(finished, step, steps, taken, workers, INPUT_ENDED in extra, order, saves)
    return StartState(**team.agree(dataclasses.asdict(found)))


def elements(job: Job) -> int:
    """How many elements of their inputs all processes take for a step."""
    group = job.group
    return job.elements * (group.size if group.synchronous else 1)


def already_finished(job: Job, start: Checkpoint | None) -> str | None:
    """The line to print instead of training, where an earlier run did all there is to do."""
    if not job.training or start is None or job.log_dir is None or start.step is None:
        return None
    if not start.resume:
        return None
    if start.step >= job.max_steps:
        return report.already_reached(job.log_dir, start.step, job.max_steps)
    if not job.restoring.again and checkpoint.read_extra(start).get(INPUT_ENDED) == job.max_steps:
        return report.input_already_ended(job.log_dir, start.step)
    return None
