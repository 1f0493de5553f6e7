"""ModelFnOps, the result of a `tf.contrib.learn` model function, and MetricSpec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.export import PredictOutput
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys, SpecLike


@dataclass(frozen=True)
class ModelFnOps(SpecLike):
    """The operations that a model function built for a mode; see `tf.estimator.EstimatorSpec`.

    Attributes:
        output_alternatives: by name, a pair (problem type, dict of tensors) to export.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    output_alternatives: Mapping[str, Any] | None = None
    training_chief_hooks: Sequence[Any] | None = None
    training_hooks: Sequence[Any] | None = None
    scaffold: Any = None

    def as_estimator_spec(self) -> EstimatorSpec:
        """Converts the result; in INFER, predictions are exported for serving too."""
        outputs = None
        if self.mode == ModeKeys.PREDICT:
            outputs = {
                name or tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: (
                    PredictOutput(tensors)
                )
                for name, (_, tensors) in (self.output_alternatives or {}).items()
            } or None
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=None if self.mode == ModeKeys.PREDICT else self.loss,
            train_op=self.train_op if self.mode == ModeKeys.TRAIN else None,
            eval_metric_ops=self.eval_metric_ops if self.mode == ModeKeys.EVAL else None,
            export_outputs=outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


class _Signature(NamedTuple):
    dtype: Any
    shape: Any
    is_sparse: bool


class TensorSignature(_Signature):
    """The type and the shape of a tensor; a sparse tensor has no shape here.

    Args:
        tensor: a tensor, or a sparse tensor.
    """

    def __new__(cls, tensor: Any) -> Self:
        """Reads the two of the tensor."""
        if isinstance(tensor, tf.SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, True)
        return super().__new__(cls, tensor.dtype, tensor.shape, False)


def spec_of(mode: str, result: Any) -> EstimatorSpec:
    """Converts a model function's result: ModelFnOps, an EstimatorSpec, or a tuple.

    Args:
        mode: the mode of the call.
        result: the result; a tuple is (predictions, loss, train_op).

    Raises:
        MoxTypeError: the result is of another kind.
    """
    if isinstance(result, SpecLike):
        return result.as_estimator_spec()
    if isinstance(result, tuple | list) and len(result) == 3:
        return ModelFnOps(mode, *result).as_estimator_spec()
    raise MoxTypeError(
        f"the model_fn of a tf.contrib.learn.Estimator returned {shown(result)}; it must return"
        " ModelFnOps or the tuple (predictions, loss, train_op)."
    )


class MetricSpec:
    """A metric of an evaluation, and the tensors that it compares.

    Args:
        metric_fn: a function of predictions and labels, such as those of `tf.metrics`.
        prediction_key: which prediction; None: the only one.
        label_key: which label; None: the only one.
        weight_key: the feature with the samples' weights; None: no weights.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn = metric_fn
        self.prediction_key, self.label_key = prediction_key, label_key
        self.weight_key = weight_key

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Returns the pair (value, update operation) of the metric."""
        given = {
            "predictions": _one("prediction", predictions, self.prediction_key),
            "labels": _one("label", labels, self.label_key),
        }
        if self.weight_key is not None:
            given["weights"] = _one("weight", inputs, self.weight_key)
        return _call(self.metric_fn, given)


def metric_ops(metrics: Mapping[Any, Any], inputs: Any, labels: Any, predictions: Any) -> Any:
    """Returns the pairs (value, update operation) of metrics, by name.

    Args:
        metrics: by name, or by (name, key of the prediction), MetricSpecs or functions of
            (predictions, labels).
        inputs, labels, predictions: tensors or dicts of tensors.
    """
    made = {}
    for key, metric in metrics.items():
        name, prediction = key if isinstance(key, tuple) else (key, None)
        spec = metric if isinstance(metric, MetricSpec) else MetricSpec(metric, prediction)
        made[name] = spec.create_metric_ops(inputs, labels, predictions)
    return made


def _one(kind: str, tensors: Any, key: str | None) -> Any:
    if not isinstance(tensors, Mapping):
        return tensors
    if key is None and len(tensors) == 1:
        return next(iter(tensors.values()))
    if key not in tensors:
        raise MoxValueError(
            f"a MetricSpec has {kind}_key={key!r}; the keys are {', '.join(map(str, tensors))}."
        )
    return tensors[key]


def _call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Calls a metric by the names that it has for its arguments."""
    try:
        taken = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        taken = set(given)
    if "targets" in taken and "labels" not in taken:
        given["targets"] = given.pop("labels")
    if "predictions" in taken or "labels" in taken or "targets" in taken:
        return function(**given)
    labels = given.get("labels", given.get("targets"))
    rest = {name: given[name] for name in ("weights",) if name in given}
    return function(given["predictions"], labels, **rest)


class ProblemType:
    """The kinds of problems that output alternatives name."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3
