"""The six optimizers: each makes the assignments of one variable.

Names follow the formulas: w variable, g gradient including l1 and l2 (except for Adam), t step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow.compat.v1 as tf

Slot = Callable[..., tf.Variable]
_UNTOUCHED = 1e-12  # A gradient below this leaves an element of lazy Adam as it is.


@dataclass(frozen=True)
class Update:
    """The tensors from which an optimizer updates one variable in one step.

    Attributes:
        variable: the variable to update.
        w: the variable's value, as the job read it.
        raw: gradient of the mean loss and of the variable's regularizer, clipped.
        penalty: gradient of l1 and l2 of the train settings and, but for optimizers in `DECOUPLED`,
            of the weight decay; or None.
        l2: factor of the penalty's l2, for LARS.
        lr: learning rate, of the variable's type.
        step: finished steps, an int64 scalar.
        slot: `slot("m")` is a variable of the optimizer beside this one.
        size: norm of the whole variable if `w` is a part; else None.
        slope: norm of the whole gradient if `w` is a part; else None.
        shared: tensors that the parts of a variable make once.
    """

    variable: tf.Variable
    w: tf.Tensor
    raw: tf.Tensor
    penalty: tf.Tensor | None
    l2: float
    lr: tf.Tensor
    step: tf.Tensor
    slot: Slot
    size: tf.Tensor | None = None
    slope: tf.Tensor | None = None
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def g(self) -> tf.Tensor:
        """The gradient with its regularization."""
        return self.raw if self.penalty is None else self.raw + self.penalty

    def lower(self, change: tf.Tensor) -> tf.Operation:
        """Subtracts `change` from the variable."""
        return self.variable.assign_sub(tf.cast(change, self.variable.dtype.base_dtype)).op


def _wide(u: Update) -> Update:
    """Returns an update that computes in float32 if the variable has half precision.

    In half precision, squares of gradients below 0.0002 are 0, and so is the epsilon that is added
    to them.
    """
    if u.w.dtype != tf.float16:
        return u

    def cast(tensor: tf.Tensor | None) -> Any:
        return None if tensor is None else tf.cast(tensor, tf.float32)

    return replace(
        u,
        **{name: cast(getattr(u, name)) for name in ("w", "raw", "penalty", "lr")},
        slot=functools.partial(u.slot, dtype=tf.float32),
    )


def naive(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """w -= lr g."""
    del fields
    return [tf.raw_ops.ResourceApplyGradientDescent(var=u.variable.handle, alpha=u.lr, delta=u.g)]


def _with_momentum(u: Update, beta: float, lr: tf.Tensor) -> list[tf.Operation]:
    return [
        tf.raw_ops.ResourceApplyKerasMomentum(
            var=u.variable.handle,
            accum=u.slot("momentum").handle,
            lr=lr,
            grad=u.g,
            momentum=tf.cast(beta, u.w.dtype),
        )
    ]


def momentum(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """m = beta m - lr g; w += m."""
    return _with_momentum(u, fields["beta"], u.lr)


def rmsprop(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """s = (1 - d) g^2 + d s, where d = 0 at the first step; w -= lr g / sqrt(s + epsilon)."""
    u = _wide(u)
    slot = u.slot("mean_square")
    d = tf.where(tf.equal(u.step, 0), 0.0, fields["decay_rate"])
    d = tf.cast(d, u.w.dtype)
    s = (1 - d) * tf.square(u.g) + d * slot.read_value()
    change = u.lr * u.g * tf.math.rsqrt(s + tf.cast(fields["epsilon"], s.dtype))
    return [slot.assign(s).op, u.lower(change)]


def lars(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """m = beta m - local g; w += m, with local = lr c |w| / (|g| + l2 |w| + epsilon).

    The form of the paper (You, Gitman, Ginsburg, 2017); where |w| is 0, local = lr.
    """
    size = tf.norm(u.w) if u.size is None else u.size
    slope = tf.norm(u.raw) if u.slope is None else u.slope
    ratio = fields["lars_coefficient"] * size / (slope + u.l2 * size + fields["epsilon"])
    ratio = tf.where(size > 0, ratio, tf.ones_like(ratio))
    return _with_momentum(u, fields["momentum_beta"], u.lr * ratio)


def adam(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """w -= lr (m / (sqrt(v) + epsilon) + penalty); m and v corrected for their start if asked.

    l1 and l2 are added to the step, not to the gradient. The bias correction follows the paper
    (Kingma and Ba, 2015): it does not change the stored moments.
    """
    u = _wide(u)
    m, v, b1, b2 = _moments(u, fields)
    hat_m, hat_v, powers = m, v, []
    if fields["do_bias_correction"]:
        first, second, powers = _powers(u, b1, b2)
        hat_m, hat_v = m / (1 - first), v / (1 - second)
    change = hat_m / (tf.sqrt(hat_v) + tf.cast(fields["epsilon"], v.dtype))
    change = change if u.penalty is None else change + u.penalty
    return [*_store(u, m, v), u.lower(u.lr * change), *powers]


def lazy_adam(u: Update, fields: dict[str, Any]) -> list[tf.Operation]:
    """Adam that leaves an element and its moments as they are if its gradient is below 1e-12."""
    u = _wide(u)
    m, v, b1, b2 = _moments(u, fields)
    first, second, powers = _powers(u, b1, b2)
    change = u.lr * tf.sqrt(1 - second) / (1 - first) * m
    change = change / (tf.sqrt(v) + tf.cast(fields["epsilon"], v.dtype))
    change = change if u.penalty is None else change + u.lr * u.penalty
    touched = tf.abs(u.raw) >= tf.cast(_UNTOUCHED, u.raw.dtype)
    change = tf.where(touched, change, tf.zeros_like(change))
    m = tf.where(touched, m, u.slot("m").read_value())
    v = tf.where(touched, v, u.slot("v").read_value())
    return [*_store(u, m, v), u.lower(change), *powers]


def _moments(u: Update, fields: dict[str, Any]) -> tuple[Any, Any, float, float]:
    b1, b2 = fields["beta1"], fields["beta2"]
    m = b1 * u.slot("m").read_value() + (1 - b1) * u.raw
    v = b2 * u.slot("v").read_value() + (1 - b2) * tf.square(u.raw)
    return m, v, b1, b2


def _store(u: Update, m: tf.Tensor, v: tf.Tensor) -> list[tf.Operation]:
    return [u.slot("m").assign(m).op, u.slot("v").assign(v).op]


def _powers(u: Update, b1: float, b2: float) -> tuple[Any, Any, list[tf.Operation]]:
    """Returns beta1^(t+1), beta2^(t+1), and the operations that advance them."""
    if "powers" in u.shared:
        return (*u.shared["powers"], [])
    slots = [u.slot(f"beta{i}_t", b, True) for i, b in ((1, b1), (2, b2))]
    first, second = (slot.read_value() for slot in slots)
    u.shared["powers"] = first, second
    with tf.control_dependencies([first, second]):
        steps = [slots[0].assign(first * b1).op, slots[1].assign(second * b2).op]
    return first, second, steps


# Optimizers whose own step has no weight decay: it lowers the variable after that step.
DECOUPLED = ("momentum_conf", "rmsprop_conf")
BY_KEY: dict[str, Callable[[Update, dict[str, Any]], list[tf.Operation]]] = {
    "naive_conf": naive,
    "momentum_conf": momentum,
    "rmsprop_conf": rmsprop,
    "lars_conf": lars,
    "adam_conf": adam,
    "lazy_adam_conf": lazy_adam,
}
