"""Computing in 16 bits on 32-bit variables, and the loss scale that keeps small gradients alive.

After Micikevicius et al., "Mixed Precision Training", arXiv 1710.03740: variables and their updates
are float32; the forward and backward pass is float16 or bfloat16; the loss is multiplied by a scale
before the gradients are taken, and the gradients are divided by it. A dynamic scale is halved when
a gradient overflows, and that step is left out; it doubles after 2,000 steps without overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

from moxing.engine.graph import ancestry

_STEPS_TO_GROW = 2000
_LARGEST = 2.0**24


@dataclass(frozen=True)
class LossScale:
    """How a step scales its loss.

    Attributes:
        value: float, or scalar float32 tensor.
        steps: int64 variable, steps since the scale last changed; None for a fixed scale.
        skipped: int64 variable, steps left out because of an overflow; None for a fixed scale.
    """

    value: Any = 1.0
    steps: tf.Variable | None = None
    skipped: tf.Variable | None = None

    @property
    def dynamic(self) -> bool:
        return self.steps is not None

    def scale(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss to take gradients of, in float32."""
        if not self.dynamic and self.value == 1.0:
            return loss
        return tf.cast(loss, tf.float32) * self.value

    def unscale(self, gradient: Any) -> Any:
        """A gradient of the scaled loss, as one of the loss itself."""
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
    """A fixed scale, or variables of a dynamic one that starts at `value`."""
    if not dynamic:
        return LossScale(value)
    with tf.variable_scope("loss_scale", reuse=tf.AUTO_REUSE, use_resource=True):
        return LossScale(
            tf.get_variable("value", initializer=float(value), trainable=False),
            tf.get_variable("steps", initializer=tf.constant(0, tf.int64), trainable=False),
            tf.get_variable("skipped", initializer=tf.constant(0, tf.int64), trainable=False),
        )


def all_finite(tensors: Sequence[Any]) -> tf.Tensor:
    """Whether no element of any tensor is infinite or not a number; scalar bool."""
    dense: list[Any] = [
        t.values if isinstance(t, tf.IndexedSlices) else t for t in tensors if t is not None
    ]
    floating = [tensor for tensor in dense if tensor.dtype.is_floating]
    checks = [tf.reduce_all(tf.math.is_finite(tensor)) for tensor in floating]
    return tf.reduce_all(tf.stack(checks)) if checks else tf.constant(True)


def cast_inputs(tensors: Sequence[Any], dtype: tf.DType) -> list[Any]:
    """float32 tensors as `dtype`; all others, labels for example, as they are."""
    return [tf.cast(t, dtype) if t.dtype.base_dtype == tf.float32 else t for t in tensors]


@contextmanager
def stored_as(stored: tf.DType) -> Iterator[None]:
    """Floating-point variables made inside are stored as `stored` and read as the type asked for.

    `tf.get_variable` then returns a tensor, not a variable, where the types differ.
    """

    def getter(
        getter: Callable[..., Any], name: str, *args: Any, dtype: Any = None, **kwargs: Any
    ) -> Any:
        initial: Any = kwargs.get("initializer")
        if isinstance(initial, tf.Tensor):
            # An initial value decides the type of its variable, whatever `dtype` says.
            dtype = initial.dtype.base_dtype
        asked = None if dtype is None else tf.as_dtype(dtype)
        if asked is None or not asked.is_floating or asked == stored:
            return getter(name, *args, dtype=dtype, **kwargs)
        if isinstance(initial, tf.Tensor):
            kwargs["initializer"] = tf.cast(initial, stored)
        return tf.cast(getter(name, *args, dtype=stored, **kwargs), asked)

    scope = tf.get_variable_scope()
    with tf.variable_scope(scope, custom_getter=getter, auxiliary_name_scope=False):
        yield


def undo_unless(finite: tf.Tensor, updates: Sequence[tf.Operation]) -> list[tf.Operation]:
    """Lets batch-norm updates of a step that overflowed not have happened.

    Args:
        finite: scalar bool, whether the step counts.
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
