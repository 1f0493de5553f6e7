"""Replaces the updates of Keras 3's Adam and SGD by single TensorFlow operations, for speed.

Keras computes each weight's update with a dozen operations. The formulas are the same: Adam is from
Kingma and Ba, "Adam", arXiv 1412.6980, with epsilon as in the paragraph before its section 2.1; SGD
with momentum accumulates gradients already multiplied by the learning rate:

    accumulator = momentum * accumulator - rate * gradient
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

_Update = Callable[[Any, Any, Any, Any], bool]


@contextmanager
def updates(optimizer: Any) -> Iterator[None]:
    """In the block, `optimizer` updates weights by single operations where possible."""
    update = _update_of(optimizer)
    if update is None or "update_step" in vars(optimizer):
        yield
        return
    original = optimizer.update_step

    def update_step(gradient: Any, variable: Any, learning_rate: Any) -> Any:
        fits = isinstance(gradient, tf.Tensor) and gradient.dtype == variable.dtype == tf.float32
        if not (fits and update(optimizer, gradient, variable, learning_rate)):
            original(gradient, variable, learning_rate)

    vars(optimizer)["update_step"] = update_step
    try:
        yield
    finally:
        del vars(optimizer)["update_step"]


def _update_of(optimizer: Any) -> _Update | None:
    """Returns the fused update of Keras 3's own Adam, AdamW or SGD; None for any other class."""
    kind = type(optimizer)
    if not kind.__module__.startswith("keras.src.optimizers."):
        return None
    return {"Adam": _adam, "AdamW": _adam, "SGD": _sgd}.get(kind.__name__)


def _adam(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    if optimizer.amsgrad:
        return False
    index = optimizer._get_variable_index(variable)
    step = tf.cast(optimizer.iterations + 1, tf.float32)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=optimizer._momentums[index].value.handle,
        v=optimizer._velocities[index].value.handle,
        beta1_power=tf.pow(tf.constant(optimizer.beta_1, tf.float32), step),
        beta2_power=tf.pow(tf.constant(optimizer.beta_2, tf.float32), step),
        lr=tf.cast(learning_rate, tf.float32),
        beta1=optimizer.beta_1,
        beta2=optimizer.beta_2,
        epsilon=optimizer.epsilon,
        grad=gradient,
    )
    return True


def _sgd(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    rate = tf.cast(learning_rate, tf.float32)
    if not optimizer.momentum:
        tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)
        return True
    index = optimizer._get_variable_index(variable)
    tf.raw_ops.ResourceApplyKerasMomentum(
        var=variable.handle,
        accum=optimizer.momentums[index].value.handle,
        lr=rate,
        grad=gradient,
        momentum=optimizer.momentum,
        use_nesterov=optimizer.nesterov,
    )
    return True
