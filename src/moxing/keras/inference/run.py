"""The shared parts of `evaluate` and `predict`: checks of a call, and one pass over its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import logs
from moxing.engine.job.job import PREDICT, Data, Job, Logging, Outputs, Restoring, Result
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.run import in_cell
from moxing.flags import hello, rehearsal
from moxing.keras import arguments, checks, dry_run, evaluation, misfit, place
from moxing.keras.building import families
from moxing.keras.building.families import Family
from moxing.keras.building.variables import to_keras
from moxing.keras.inference.applied import AppliedModel
from moxing.keras.pipeline import Pipeline

_NO_LIMIT = 1 << 60
_DATA = "x"  # The name of the argument that has the data.
_STEPS = {"evaluate": "test_step", "predict": "predict_step"}
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


def begin(name: str, model: Any) -> Family:
    """Begins a call of `moxing.keras.evaluate` or `predict`: says hello, and checks the model.

    Args:
        name: the name of the called function.
        model: the model.

    Returns:
        The Keras family of the model.

    Raises:
        MoxRuntimeError: eager execution is off.
        MoxTypeError, MoxNotSupportedError: the model is not a supported Keras model.
    """
    face = f"moxing.keras.{name}"
    logs.use()
    hello.say_hello()
    checks.require_eager(face)
    family = families.of(model, face)
    families.check_backend(family)
    return family


@dataclass(frozen=True)
class Reading:
    """The arguments of `evaluate` and `predict` that say which data to read, on which devices.

    Attributes:
        x, batch_size, steps, num_gpus: see `moxing.keras.evaluate`.
    """

    x: Any
    batch_size: int | None
    steps: int | None
    num_gpus: int | None


class Pass:
    """One pass of a model over data, on all devices of this process.

    Args:
        name: the name of the called function: "evaluate" or "predict".
        family: the Keras family of the model.
        model: the model.
        reading: the data.

    Attributes:
        applied: builds the model's step.

    Raises:
        MoxTypeError, MoxValueError: the data has no supported form, does not fit the model, or has
            no end although `steps` is None.
    """

    def __init__(self, name: str, family: Family, model: Any, reading: Reading) -> None:
        limit = 1 if rehearsal.wanted() else arguments.count("steps", reading.steps, name)
        batch_size = arguments.count("batch_size", reading.batch_size, name)
        given = evaluation.read(reading.x, batch_size, limit, _DATA, "steps=")
        assert given is not None
        arguments.check_rank(model, given, _DATA)
        devices = place.devices(reading.num_gpus)
        self._model, self._given, self._devices = model, given, devices
        self._pipeline = Pipeline(given, False, devices, 0, 1, passes=True, limit=limit)
        self.applied = AppliedModel(family, model, self._pipeline, _STEPS[name], _DATA, devices)

    def run(
        self,
        end: Callable[[tf.Session], None] = lambda session: None,
        take: Callable[[list[dict[str, Any]]], None] | None = None,
    ) -> Result:
        """Runs the model's step for each batch, and returns the steps and seconds of the run.

        Changes no values of the model but those that the step itself writes.

        Args:
            end: called in the open session after the last step.
            take: called with the outputs of each step, in the order of the batches.
        """
        applied = self.applied

        def finish(session: tf.Session) -> None:
            to_keras(session, list(applied.written.values()))
            end(session)

        def model_fn(inputs: Any, mode: str) -> Any:
            return applied.model_fn(inputs, mode)

        model_fn.__wrapped__ = self._model.call  # type: ignore[attr-defined]
        job = Job(
            mode=PREDICT,
            data=Data(self._pipeline.input_fn),
            model_fn=model_fn,
            max_steps=_NO_LIMIT,
            pauses=_Ending(finish),
            placement=Placement(ProcessGroup(None, self._devices)),
            restoring=Restoring(untrained=True),
            logging=Logging(0, names={**_OPTIONS, "input_fn": _DATA}, sums_up=False),
            outputs=Outputs(take, 1 if take is not None else 0),
        )
        with misfit.told_in_steps(_DATA, self._given.element, self._model):
            return dry_run.one_batch(job) if rehearsal.wanted() else in_cell.execute(job)
