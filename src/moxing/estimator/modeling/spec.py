"""EstimatorSpec, the result of a model function, and ModeKeys, the modes of its calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown


class ModeKeys:
    """The modes of an Estimator: "train", "eval" and "infer"."""

    TRAIN: Final = "train"
    EVAL: Final = "eval"
    PREDICT: Final = "infer"


MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)


class SpecLike(ABC):
    """Base class of the results that a model function may return."""

    @abstractmethod
    def as_estimator_spec(self) -> EstimatorSpec:
        """Converts the result to an EstimatorSpec; called in the graph of the model."""


@dataclass(frozen=True)
class EstimatorSpec(SpecLike):
    """The operations that `model_fn` built for a mode.

    Attributes:
        mode: the mode.
        predictions: a tensor, or a dict of tensors; needed in PREDICT.
        loss: a scalar tensor; needed in TRAIN and EVAL.
        train_op: the result of an optimizer's `minimize` or `apply_gradients`, possibly grouped
            with other operations; needed in TRAIN.
        eval_metric_ops: by name, a pair (value, update operation) as from `tf.metrics`, or a Keras
            metric.
        export_outputs: by signature name, an `ExportOutput` of `tf.estimator.export`.
        training_chief_hooks: called around every step of training, in the chief process only.
        training_hooks: called around every step of training.
        scaffold: a Scaffold, whose local_init_op, init_fn and, in EVAL and PREDICT, saver are
            used.
        evaluation_hooks, prediction_hooks: called around every step of an evaluation or
            prediction.

    Raises:
        MoxValueError: the mode is unknown, the loss is not a scalar, or a field that the mode
            needs is missing.
        MoxTypeError: a hook is not a SessionRunHook.
    """

    mode: str
    predictions: Any = None
    loss: tf.Tensor | None = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Mapping[str, Any] | None = None
    training_chief_hooks: Sequence[tf.train.SessionRunHook] | None = field(default=None)
    training_hooks: Sequence[tf.train.SessionRunHook] | None = field(default=None)
    scaffold: tf.train.Scaffold | None = None
    evaluation_hooks: Sequence[tf.train.SessionRunHook] | None = field(default=None)
    prediction_hooks: Sequence[tf.train.SessionRunHook] | None = field(default=None)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise MoxValueError(
                f"EstimatorSpec has the mode {shown(self.mode)}; it must be"
                " tf.estimator.ModeKeys.TRAIN, EVAL or PREDICT."
            )
        for name in _NEEDED[self.mode]:
            if getattr(self, name) is None:
                raise MoxValueError(
                    f"EstimatorSpec has no {name}, which the mode {self.mode!r} needs:"
                    f" tf.estimator.EstimatorSpec(mode, {name}=...)."
                )
        if self.loss is not None:
            object.__setattr__(self, "loss", _scalar(self.loss))
        for name in _HOOKS:
            for hook in getattr(self, name) or ():
                if not isinstance(hook, tf.train.SessionRunHook):
                    raise MoxTypeError(
                        f"EstimatorSpec's {name} has {shown(hook)}, which is no SessionRunHook."
                    )

    def as_estimator_spec(self) -> EstimatorSpec:
        """Returns this spec itself."""
        return self

    def _replace(self, **changes: Any) -> EstimatorSpec:
        """Returns a copy with the given fields changed, like a named tuple's method."""
        names = {*EstimatorSpec.__dataclass_fields__}
        unknown = changes.keys() - names
        if unknown:
            raise MoxValueError(f"EstimatorSpec has no field {sorted(unknown)[0]!r}.")
        return EstimatorSpec(**{**{name: getattr(self, name) for name in names}, **changes})


_NEEDED = {
    ModeKeys.TRAIN: ("loss", "train_op"),
    ModeKeys.EVAL: ("loss",),
    ModeKeys.PREDICT: ("predictions",),
}
_HOOKS = ("training_chief_hooks", "training_hooks", "evaluation_hooks", "prediction_hooks")


def _scalar(loss: Any) -> tf.Tensor:
    tensor = tf.convert_to_tensor(loss)
    if tensor.shape.rank == 0:
        return tensor
    if tensor.shape.num_elements() in (None, 1):  # None: a py_func's, which only a run can tell.
        return tf.reshape(tensor, [])
    raise MoxValueError(
        f"EstimatorSpec's loss ({tensor.name}) has the shape {tensor.shape}; it must be a scalar,"
        " such as tf.reduce_mean(loss)."
    )
