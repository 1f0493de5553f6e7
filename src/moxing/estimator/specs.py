"""The arguments of `train_and_evaluate`: TrainSpec and EvalSpec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.counts import rounded_up
from moxing.estimator.serving.exporters import Exporter


@dataclass(frozen=True)
class TrainSpec:
    """How to train.

    Attributes:
        input_fn: returns a Dataset of batches (features, labels), or a pair of such tensors.
        max_steps: training ends when the global step reaches this value; None: with the data.
        hooks: called around every step, in every process that trains.
        saving_listeners: called around every commit of a checkpoint, in the chief.

    Raises:
        MoxTypeError, MoxValueError: a value that no training could use.
    """

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Sequence[tf.train.SessionRunHook] = ()
    saving_listeners: Sequence[tf.train.CheckpointSaverListener] = ()

    def __post_init__(self) -> None:
        check_input_fn("TrainSpec", self.input_fn)
        steps = check_steps("TrainSpec", "max_steps", self.max_steps)
        object.__setattr__(self, "max_steps", steps)
        object.__setattr__(self, "hooks", check_hooks("TrainSpec", self.hooks))
        listeners = check_listeners("TrainSpec", self.saving_listeners)
        object.__setattr__(self, "saving_listeners", listeners)


@dataclass(frozen=True)
class EvalSpec:
    """How to evaluate.

    Attributes:
        input_fn: see TrainSpec.
        steps: the number of batches to evaluate; None: all the data.
        name: the name of the evaluation; its summaries go to `eval_<name>` in model_dir.
        hooks: called around every step.
        exporters: an exporter or a collection of exporters, called after each evaluation.
        start_delay_secs: seconds that an evaluator process waits before its first evaluation.
        throttle_secs: the minimum seconds between the starts of two evaluations.

    Raises:
        MoxTypeError, MoxValueError: a value that no evaluation could use.
    """

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[tf.train.SessionRunHook] = ()
    exporters: Any = ()
    start_delay_secs: float = 120
    throttle_secs: float = 600

    def __post_init__(self) -> None:
        check_input_fn("EvalSpec", self.input_fn)
        object.__setattr__(self, "steps", check_steps("EvalSpec", "steps", self.steps))
        object.__setattr__(self, "hooks", check_hooks("EvalSpec", self.hooks))
        given = self.exporters or ()
        given = tuple(given) if isinstance(given, list | tuple | set) else (given,)
        for exporter in given:
            if not isinstance(exporter, Exporter):
                raise MoxTypeError(
                    f"EvalSpec has the exporter {shown(exporter)}; it must be a"
                    " tf.estimator.Exporter, such as FinalExporter, LatestExporter or BestExporter."
                )
        names = [exporter.name for exporter in given]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise MoxValueError(
                f"EvalSpec has two exporters of the name {double!r}, which is also the name of"
                " their folder. Give each a name of its own."
            )
        object.__setattr__(self, "exporters", given)
        for name in ("start_delay_secs", "throttle_secs"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or value < 0:
                raise MoxValueError(f"EvalSpec({name}={shown(value)}): it must be at least 0.")


def check_input_fn(where: str, function: Any) -> None:
    """Raises a MoxTypeError if `function` is not callable."""
    if not callable(function):
        raise MoxTypeError(f"{where} has input_fn={shown(function)}, which is no function.")


def check_steps(where: str, name: str, value: Any) -> int | None:
    """Returns a number of steps as an int: 1e4 as 10000, and 2.5 as 3, as in TensorFlow."""
    if value is None:
        return None
    count = rounded_up(value)
    if count is None or count <= 0:
        raise MoxValueError(
            f"{where} has {name}={shown(value)}; it must be a number above 0, or None."
        )
    return count


def check_hooks(where: str, hooks: Any) -> tuple[tf.train.SessionRunHook, ...]:
    """Returns the hooks as a tuple; raises a MoxTypeError for any other object."""
    if isinstance(hooks, tf.train.SessionRunHook):
        raise MoxTypeError(f"{where} has hooks={shown(hooks)}; give a list: hooks=[hook].")
    for hook in hooks or ():
        if not isinstance(hook, tf.train.SessionRunHook):
            raise MoxTypeError(
                f"{where} has the hook {shown(hook)}, which is no tf.train.SessionRunHook."
            )
    return tuple(hooks or ())


def check_listeners(where: str, given: Any) -> tuple[tf.train.CheckpointSaverListener, ...]:
    """Returns the listeners as a tuple; raises a MoxTypeError for any other object."""
    kind = tf.train.CheckpointSaverListener
    if isinstance(given, kind):
        raise MoxTypeError(
            f"{where} has saving_listeners={shown(given)}; give a list: saving_listeners=[it]."
        )
    for listener in given or ():
        if not isinstance(listener, kind):
            raise MoxTypeError(
                f"{where} has the saving listener {shown(listener)}, which is no"
                " tf.train.CheckpointSaverListener."
            )
    return tuple(given or ())
