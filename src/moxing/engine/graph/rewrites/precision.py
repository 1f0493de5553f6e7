"""Mixed precision: 16-bit computation on 32-bit variables, and loss scaling for small gradients.

The method is that of Micikevicius et al., "Mixed Precision Training", arXiv 1710.03740: variables
and their updates are float32; the forward and backward passes are float16 or bfloat16; the loss is
multiplied by a scale before gradients are computed, and the gradients are divided by that scale. A
dynamic scale is halved when a gradient overflows, and the update of that step is skipped; the scale
doubles after 2,000 steps without overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

from moxing.engine.graph import ancestry
from moxing.engine.graph.rewrites import mixed_types, wide_penalties

_STEPS_TO_GROW = 2000
_LARGEST = 2.0**24


@dataclass(frozen=True)
class LossScale:
    """How a step scales its loss.

    Attributes:
        value: the scale, a float or a scalar float32 variable.
        steps: int64 variable, steps since the scale last changed; None for a fixed scale.
        skipped: int64 variable, steps skipped because of an overflow; None for a fixed scale.
    """

    value: Any = 1.0
    steps: tf.Variable | None = None
    skipped: tf.Variable | None = None

    @property
    def dynamic(self) -> bool:
        return self.steps is not None

    def scale(self, loss: tf.Tensor) -> tf.Tensor:
        """The scaled loss, in float32, of which to compute gradients."""
        if not self.dynamic and self.value == 1.0:
            return loss
        return tf.cast(loss, tf.float32) * self.value

    def unscale(self, gradient: Any) -> Any:
        """The gradient of the loss itself, from the gradient of the scaled loss."""
        if gradient is None or (not self.dynamic and self.value == 1.0):
            return gradient
        if isinstance(gradient, tf.IndexedSlices):
            values = self.unscale(gradient.values)
            return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
        return gradient / tf.cast(self.value, gradient.dtype)

    def apply(self, finite: tf.Tensor, update: Callable[[], tf.Operation]) -> tf.Operation:
        """Runs `update` if all gradients are `finite`, and changes a dynamic scale either way."""
        if self.steps is None or self.skipped is None:
            return update()
        done = tf.cond(finite, lambda: _as_true(update()), lambda: tf.constant(False))
        grown = tf.minimum(self.value * 2.0, _LARGEST)
        due = self.steps + 1 >= _STEPS_TO_GROW
        after_good = tf.where(due, grown, self.value)
        after = tf.where(finite, after_good, tf.maximum(self.value / 2.0, 1.0))
        count = tf.where(tf.logical_and(finite, tf.logical_not(due)), self.steps + 1, 0)
        missed = tf.cast(tf.logical_not(finite), tf.int64)
        with tf.control_dependencies([done, after, count, missed]):
            return tf.group(
                tf.assign(self.value, after),
                tf.assign(self.steps, count),
                tf.assign_add(self.skipped, missed),
            )


def make_loss_scale(value: float, dynamic: bool) -> LossScale:
    """Returns a fixed scale, or a dynamic scale that starts at `value`, in variables."""
    if not dynamic:
        return LossScale(value)
    with tf.variable_scope("loss_scale", reuse=tf.AUTO_REUSE, use_resource=True):
        return LossScale(
            tf.get_variable("value", initializer=float(value), trainable=False),
            tf.get_variable("steps", initializer=tf.constant(0, tf.int64), trainable=False),
            tf.get_variable("skipped", initializer=tf.constant(0, tf.int64), trainable=False),
        )


def all_finite(tensors: Sequence[Any]) -> tf.Tensor:
    """A scalar bool tensor: whether every element of all tensors is finite."""
    dense: list[Any] = [
        t.values if isinstance(t, tf.IndexedSlices) else t for t in tensors if t is not None
    ]
    floating = [tensor for tensor in dense if tensor.dtype.is_floating]
    checks = [tf.reduce_all(tf.math.is_finite(tensor)) for tensor in floating]
    return tf.reduce_all(tf.stack(checks)) if checks else tf.constant(True)


def cast_inputs(tensors: Sequence[Any], dtype: tf.DType, labels: Collection[int] = ()) -> list[Any]:
    """Casts float32 tensors to `dtype`, except labels; leaves tensors of other types as they are.

    Args:
        tensors: the inputs of a model.
        dtype: the type in which the model computes.
        labels: the positions of labels among the tensors. 16 bits can't hold each integer above
            256 (bfloat16) or 2048 (float16).
    """
    return [
        tf.cast(t, dtype) if t.dtype.base_dtype == tf.float32 and place not in labels else t
        for place, t in enumerate(tensors)
    ]


@contextmanager
def stored_as(stored: tf.DType) -> Iterator[None]:
    """In the block, floating-point variables are stored as `stored` and read as the requested type.

    If the two types differ, `tf.get_variable` returns a tensor, not a variable. From here on the
    graph's operations take both types at once: see `mixed_types`. Regularization losses have the
    stored type: see `wide_penalties`.
    """
    mixed_types.allow()

    def getter(
        getter: Callable[..., Any], name: str, *args: Any, dtype: Any = None, **kwargs: Any
    ) -> Any:
        initial: Any = kwargs.get("initializer")
        if isinstance(initial, tf.Tensor):
            # The type of an initial value decides the type of the variable, whatever `dtype` says.
            dtype = initial.dtype.base_dtype
        asked = None if dtype is None else tf.as_dtype(dtype)
        if asked is None or not asked.is_floating or asked == stored:
            return getter(name, *args, dtype=dtype, **kwargs)
        if isinstance(initial, tf.Tensor):
            kwargs["initializer"] = tf.cast(initial, stored)
        variable = getter(name, *args, dtype=stored, **kwargs)
        return wide_penalties.read(variable, asked)

    scope = tf.get_variable_scope()
    with tf.variable_scope(scope, custom_getter=getter, auxiliary_name_scope=False):
        yield


def undo_unless(finite: tf.Tensor, updates: Sequence[tf.Operation]) -> list[tf.Operation]:
    """Undoes the batch-norm updates of a step whose gradients overflowed.

    Args:
        finite: scalar bool tensor, whether the step's gradients are finite.
        updates: operations that assign to resource variables, made before this call.

    Returns:
        Operations that run the updates, and then put back the old values if not `finite`.
    """
    handles = {v.handle.op.name: v for v in tf.global_variables() if hasattr(v, "handle")}
    touched: dict[str, tf.Variable] = {}
    for op in ancestry.behind(updates):
        source = op.inputs[0].op.name if len(op.inputs) else ""
        if op.type.startswith("Assign") and source in handles:
            touched[source] = handles[source]
    with tf.control_dependencies(None):
        before = {name: tf.identity(variable) for name, variable in touched.items()}
    for op in ancestry.behind(updates):
        if op.type.startswith("Assign"):
            op._add_control_inputs([value.op for value in before.values()])
    with tf.control_dependencies(updates):
        return [
            variable.assign(tf2.where(finite, variable.read_value(), before[name])).op
            for name, variable in touched.items()
        ]


def _as_true(op: tf.Operation) -> tf.Tensor:
    with tf.control_dependencies([op]):
        return tf.constant(True)
