"""TPUEstimatorSpec, a result of a TPUEstimator's model function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.modeling.spec import EstimatorSpec, SpecLike


@dataclass(frozen=True)
class TPUEstimatorSpec(SpecLike):
    """The operations that `model_fn` built for a mode.

    Attributes:
        mode, predictions, loss, train_op, export_outputs: see `tf.estimator.EstimatorSpec`.
        eval_metrics: a pair of a function and its tensors, a list or a dict by parameter name. The
            function returns the `eval_metric_ops` of an `EstimatorSpec`.
        scaffold_fn: called once the model is built; returns a `tf.train.Scaffold`, or None.
        host_call: a pair of a function and its tensors, like eval_metrics. Every step runs the
            operations that the function returns.
        training_hooks, evaluation_hooks, prediction_hooks: called around every step of a training,
            evaluation or prediction.

    Raises:
        MoxTypeError: eval_metrics, host_call or scaffold_fn has the wrong type.
    """

    mode: str
    predictions: Any = None
    loss: tf.Tensor | None = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Mapping[str, Any] | None = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Sequence[tf.train.SessionRunHook] | None = None
    evaluation_hooks: Sequence[tf.train.SessionRunHook] | None = None
    prediction_hooks: Sequence[tf.train.SessionRunHook] | None = None

    def __post_init__(self) -> None:
        for name in ("eval_metrics", "host_call"):
            _check_call(name, getattr(self, name))
        if self.scaffold_fn is not None and not callable(self.scaffold_fn):
            raise MoxTypeError(
                f"TPUEstimatorSpec has scaffold_fn={shown(self.scaffold_fn)}, which is no function."
            )

    def _replace(self, **changes: Any) -> TPUEstimatorSpec:
        """Returns a copy with the given fields changed, like a named tuple's method."""
        now = {known.name: getattr(self, known.name) for known in fields(self)}
        unknown = changes.keys() - now.keys()
        if unknown:
            raise MoxValueError(f"TPUEstimatorSpec has no field {sorted(unknown)[0]!r}.")
        return TPUEstimatorSpec(**{**now, **changes})

    def as_estimator_spec(self) -> EstimatorSpec:
        """Converts this spec to an EstimatorSpec; called in the graph of the model."""
        metrics = _called(self.eval_metrics) if self.eval_metrics else None
        if metrics is not None and not isinstance(metrics, Mapping):
            raise MoxTypeError(
                f"the function of TPUEstimatorSpec's eval_metrics returned {shown(metrics)}; it"
                " must return a dict of pairs as of tf.metrics, by name."
            )
        hooks = (_Runs(_called(self.host_call)),) if self.host_call else ()
        scaffold = self.scaffold_fn() if self.scaffold_fn else None
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=scaffold,
            training_hooks=(*(self.training_hooks or ()), *hooks),
            evaluation_hooks=(*(self.evaluation_hooks or ()), *hooks),
            prediction_hooks=(*(self.prediction_hooks or ()), *hooks),
        )


def _check_call(name: str, call: Any) -> None:
    if call is None:
        return
    pair = isinstance(call, tuple | list) and len(call) == 2
    if not pair or not callable(call[0]) or not isinstance(call[1], tuple | list | Mapping):
        raise MoxTypeError(
            f"TPUEstimatorSpec has {name}={shown(call)}; it must be a function and its tensors:"
            f" {name}=(function, [tensor, ...])."
        )


def _called(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, Mapping) else function(*tensors)


class _Runs(tf.train.SessionRunHook):
    """A hook that runs operations with every step."""

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def before_run(self, run_context: Any) -> tf.train.SessionRunArgs | None:
        del run_context
        return None if self._operations is None else tf.train.SessionRunArgs(self._operations)
