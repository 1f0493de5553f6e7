"""Runs a model's step over data once, on all devices of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import PREDICT, Data, Job, Logging, Outputs, Restoring, Result
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.run import in_cell
from moxing.keras import misfit
from moxing.keras.building.variables import to_keras
from moxing.keras.data import Arrays, Made
from moxing.keras.inference.applied import AppliedModel
from moxing.keras.pipeline import Pipeline

_NO_LIMIT = 1 << 60
_OPTIONS = {
    "log_dir": "",
    "max_number_of_steps": "steps",
    "model_fn": "the model's",
    "--checkpoint_path": "",
    "--num_gpus": "num_gpus",
}


class _Ending:
    """Implements `Pauses` of a job: only its end, when the session still has all values."""

    def __init__(self, end: Callable[[tf.Session], None]) -> None:
        self._end = end

    def begin(self, session: tf.Session, global_step: int) -> None:
        """Does nothing."""

    def next(self, global_step: int) -> int:
        return global_step + _NO_LIMIT

    def reached(self, session: tf.Session, global_step: int) -> bool:
        return False

    def end(self, session: tf.Session, global_step: int) -> None:
        self._end(session)


def run(
    applied: AppliedModel,
    pipeline: Pipeline,
    given: Arrays | Made,
    model: Any,
    name: str,
    devices: int,
    end: Callable[[tf.Session], None] = lambda session: None,
    take: Callable[[list[dict[str, Any]]], None] | None = None,
) -> Result:
    """Runs the step for each batch, and returns the steps and seconds of the run.

    The model's values are not changed, but for what the step itself writes.

    Args:
        applied: builds the step.
        pipeline, given: the data.
        model: the model.
        name: the name of the argument that gave the data, for messages.
        devices: the number of devices of this process.
        end: called in the open session after the last step.
        take: called with the outputs of each step, in the order of the batches.
    """

    def finish(session: tf.Session) -> None:
        to_keras(session, list(applied.written.values()))
        end(session)

    def model_fn(inputs: Any, mode: str) -> Any:
        return applied.model_fn(inputs, mode)

    model_fn.__wrapped__ = model.call  # type: ignore[attr-defined]
    job = Job(
        mode=PREDICT,
        data=Data(pipeline.input_fn),
        model_fn=model_fn,
        max_steps=_NO_LIMIT,
        pauses=_Ending(finish),
        placement=Placement(ProcessGroup(None, devices)),
        restoring=Restoring(untrained=True),
        logging=Logging(0, names={**_OPTIONS, "input_fn": name}, sums_up=False),
        outputs=Outputs(take, 1 if take is not None else 0),
    )
    with misfit.told_in_steps(name, given.element, model):
        return in_cell.execute(job)
