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
INPUT_ORDER = "input_order"


@dataclass(frozen=True)
class StartState:
    """What the chief found out before the first step.

    Attributes:
        finished: whether an earlier run did all there is to do.
        step: the global step of the checkpoint it starts from.
        input_steps: steps whose data the run that is resumed took from its input.
        order: what the order of data is drawn from: the same as in the run that is resumed.
        saves: whether it is saved.
    """

    finished: bool
    step: int
    input_steps: int
    order: int
    saves: bool


def agree(job: Job, start: Checkpoint | None, finished: bool, team: Solo) -> StartState:
    """The chief's findings, in every process."""
    step = start.step or 0 if start is not None else 0
    saves = job.training and job.log_dir is not None
    found = StartState(finished, step, _input_steps(job, start), _input_order(start), saves)
    return StartState(**team.agree(dataclasses.asdict(found)))


def _input_steps(job: Job, start: Checkpoint | None) -> int:
    """Steps whose data the run that is resumed took from its input."""
    if not job.training or start is None or not start.resume:
        return 0
    return int(checkpoint.read_extra(start).get(INPUT_STEPS, 0))


def _input_order(start: Checkpoint | None) -> int:
    """What the order of data is drawn from: the same as in the run that is resumed."""
    known = checkpoint.read_extra(start).get(INPUT_ORDER) if start and start.resume else None
    return secrets.randbits(62) if known is None else int(known)


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
