"""The state from which all processes of a run start: the chief finds it and tells the others."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.job.job import Job
from moxing.engine.process.solo import Solo
from moxing.engine.wording import report
from moxing.logs import TENSORFLOW

# Keys of the facts in a checkpoint's manifest that a resumed run needs beside variables.
INPUT_ENDED = "input_ended_with_max_steps"
INPUT_STEPS = "input_steps"
INPUT_TAKEN = "input_elements"
INPUT_ORDER = "input_order"
INPUT_PIPELINES = "input_pipelines"
INPUT_WORKERS = "input_workers"
INPUT_SHARES = "input_shares"


@dataclass(frozen=True)
class StartState:
    """The chief's findings before the first step.

    Attributes:
        finished: whether an earlier run reached the last step or the end of its data.
        step: the global step of the checkpoint to start from; 0 without one.
        input_steps: the number of steps whose data the resumed run took from its input.
        taken: the number of elements of that data, of all processes together.
        workers: the number of processes that took that data; 0 if unknown.
        shares: the number of parts in which each batch was taken; 0 if unknown, or if it is whole.
        ended: whether that data ended, so that a resumed run reads it from its beginning.
        order: the seed of the order of data: the same as in the resumed run.
        saves: whether the run is saved.
    """

    finished: bool
    step: int
    input_steps: int
    taken: int
    workers: int
    shares: int
    ended: bool
    order: int
    saves: bool


def agree(job: Job, start: Checkpoint | None, finished: bool, team: Solo) -> StartState:
    """Returns the chief's findings, in every process."""
    step = start.step or 0 if start is not None else 0
    saves = job.training and job.log_dir is not None
    resumes = job.training and start is not None and start.resume
    extra = read_extra(start) if start is not None and start.resume else {}
    steps = int(extra.get(INPUT_STEPS, 0)) if resumes else 0
    taken = int(extra.get(INPUT_TAKEN, steps * elements(job))) if resumes else 0
    order = extra.get(INPUT_ORDER)
    order = secrets.randbits(62) if order is None else int(order)
    workers, shares = int(extra.get(INPUT_WORKERS, 0)), int(extra.get(INPUT_SHARES, 0))
    ended = INPUT_ENDED in extra
    found = StartState(finished, step, steps, taken, workers, shares, ended, order, saves)
    return StartState(**team.agree(dataclasses.asdict(found)))


def warn_of_later(unused: Checkpoint | None, found: StartState) -> None:
    """Warns if a worker's own folder holds a later checkpoint than the one that all start from.

    The folder is then another one than the chief's: the machines share no folder, and the job was
    started with them in another order.

    Args:
        unused: the newest checkpoint in the worker's folder before the start; None: there is none.
        found: the chief's findings.
    """
    if unused is None or (unused.step or 0) <= found.step or verify.fault(unused.prefix):
        return
    TENSORFLOW.warning("%s", report.later_elsewhere(unused.prefix, found.step))


def elements(job: Job) -> int:
    """Returns how many elements all processes together take from their inputs for a step."""
    group = job.group
    return job.elements * (group.size if group.synchronous else 1)


def shares(job: Job) -> int:
    """Returns the number of parts in which processes share each batch; 0: they share none."""
    return job.group.size * job.devices * job.batches if job.optimization.updating.parts else 0


def already_finished(job: Job, start: Checkpoint | None) -> str | None:
    """Returns the line to print instead of training if an earlier run has finished; else None."""
    if not job.training or start is None or job.log_dir is None or start.step is None:
        return None
    if not start.resume:
        return None
    if start.step >= job.max_steps:
        return report.already_reached(job.log_dir, start.step, job.max_steps)
    if not job.restoring.again and read_extra(start).get(INPUT_ENDED) == job.max_steps:
        return report.input_already_ended(job.log_dir, start.step)
    return None
