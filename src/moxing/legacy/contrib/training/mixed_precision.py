"""`tf.contrib.mixed_precision`: an optimizer that scales losses, so that 16-bit gradients survive.

Written from Micikevicius et al., Mixed Precision Training (2018), section 3.2, and the published
signatures of TensorFlow 1.15.
"""

from __future__ import annotations

import abc
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


class LossScaleManager(abc.ABC):
    """Base class of rules for the factor of a loss."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Any:
        """Returns the factor, a float32 scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Returns the operation that follows a step, given whether its gradients were finite."""


class FixedLossScaleManager(LossScaleManager):
    """A factor that stays."""

    def __init__(self, loss_scale: float) -> None:
        """Takes a factor of at least 1; another one raises MoxValueError."""
        if loss_scale < 1:
            raise MoxValueError(f"loss_scale is {loss_scale}, but must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, tf.float32)

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        del finite_grads
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A factor that grows while gradients are finite, and shrinks after gradients that are not."""

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        """Takes the rule.

        Args:
            init_loss_scale: the first factor.
            incr_every_n_steps: the number of finite steps in a row after which the factor is
                multiplied by incr_ratio.
            decr_every_n_nan_or_inf: the number of other steps after which it is multiplied by
                decr_ratio, but stays at least 1.
            incr_ratio: a number above 1.
            decr_ratio: a number between 0 and 1.
        """
        self._increase, self._decrease = incr_every_n_steps, decr_every_n_nan_or_inf
        self._ratios = (incr_ratio, decr_ratio)
        self._scale, self._good, self._bad = (
            tf.Variable(value, trainable=False, dtype=dtype, name=name)
            for value, dtype, name in (
                (init_loss_scale, tf.float32, "loss_scale"),
                (0, tf.int32, "good_steps"),
                (0, tf.int32, "bad_steps"),
            )
        )

    def get_loss_scale(self) -> Any:
        return tf.convert_to_tensor(self._scale)

    def update_loss_scale(self, finite_grads: Any) -> Any:
        up, down = self._ratios
        with tf.control_dependencies([finite_grads]):
            scale, good, bad = (tf.identity(v) for v in (self._scale, self._good, self._bad))
        good = tf.where(finite_grads, good + 1, 0)
        bad = tf.where(finite_grads, bad, bad + 1)
        grows, shrinks = good >= self._increase, bad >= self._decrease
        grown = scale * up
        # A factor beyond float32 would make every later gradient infinite.
        scale = tf.where(tf.logical_and(grows, tf.math.is_finite(grown)), grown, scale)
        scale = tf.where(shrinks, tf.maximum(1.0, scale * down), scale)
        changes = tf.logical_or(grows, shrinks)
        with tf.control_dependencies([scale, good, bad, changes]):
            return tf.group(
                self._scale.assign(scale),
                self._good.assign(tf.where(changes, 0, good)),
                self._bad.assign(tf.where(changes, 0, bad)),
            )


class LossScaleOptimizer(tf.train.Optimizer):
    """Multiplies a loss, divides the gradients again, and leaves out steps that are not finite."""

    def __init__(self, opt: Any, loss_scale_manager: LossScaleManager) -> None:
        """Takes the optimizer of the steps, and the rule for the factor."""
        super().__init__(False, "LossScaleOptimizer")
        self._opt, self._manager = opt, loss_scale_manager

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Returns pairs of gradients and variables, with the factor divided out."""
        scale = self._manager.get_loss_scale()
        scaled = (
            (lambda: loss() * tf.cast(scale, loss().dtype))
            if callable(loss)
            else loss * tf.cast(scale, loss.dtype)
        )
        pairs = self._opt.compute_gradients(
            scaled,
            var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        return [(_divided(gradient, scale), variable) for gradient, variable in pairs]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Returns the operation of a step, which changes nothing if a gradient is not finite."""
        pairs = list(grads_and_vars)
        values = [getattr(g, "values", g) for g, _ in pairs if g is not None]
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(value)) for value in values])
        step = tf.cond(
            finite, lambda: tf.group(self._opt.apply_gradients(pairs, global_step, name)), tf.no_op
        )
        return tf.group(step, self._manager.update_loss_scale(finite))


def _divided(gradient: Any, scale: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values / tf.cast(scale, gradient.dtype)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient / tf.cast(scale, gradient.dtype)


__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaleOptimizer",
]
