"""Momentum SGD whose momentum falls while the learning rate rises, and vice versa."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer.gradients import (
    GradVar,
    dense,
    is_vector,
    trust_ratio,
    with_gradient,
)
from moxing.tensorflow.optimizer.learning_rate import resolve_learning_rate


class DyMomentumOptimizer(tf.train.MomentumOptimizer):
    """`tf.train.MomentumOptimizer` with cyclical momentum.

    The momentum changes linearly from `max_momentum` at `min_learning_rate` to `min_momentum` at
    `max_learning_rate`, and is `max_momentum` in the last `cooldown` share of the run. The update
    is accum = momentum accum + g; w = w - learning_rate accum (with Nesterov's look-ahead,
    w = w - learning_rate (g + momentum accum)).

    No weight decay is added to the gradient; add it to the loss.

    Args:
      learning_rate: a number, a scalar tensor such as the result of `linear_cosine_decay`, or a
        function that returns either.
      max_learning_rate, min_learning_rate: the range of `learning_rate`; outside this range, the
        momentum stays at the end of its own range.
      max_momentum, min_momentum: the range of the momentum, in [0, 1); `max_mom` and `min_mom` are
        other names of these arguments.
      global_step: a scalar integer tensor or variable; None: the graph's global step.
      max_iteration: the number of steps of the whole run; needed if `cooldown` is not 0.
      use_nesterov: whether to use Nesterov's accelerated gradient.
      cooldown: the last share of the run, in [0, 1), that has the maximum momentum.
      use_lars: whether to multiply the gradient of each variable of rank 2 or more by
        lars_ratio |w| / (|g| + weight_decay |w|).
      weight_decay: the coefficient in that formula, at least 0.
      lars_ratio: the trust coefficient in that formula, above 0.
      name: the end of the slots' names.

    Raises:
      MoxValueError: a number is outside its range.
      MoxTypeError: the learning rate is invalid, or a momentum is given under both names.

    Reference: Smith, A disciplined approach to neural network hyper-parameters (2018),
    arXiv:1803.09820, section 4.3 (cyclical momentum); for LARS see `trust_ratio`.
    """

    def __init__(
        self,
        learning_rate: Any,
        max_learning_rate: float,
        min_learning_rate: float,
        max_momentum: float | None = None,
        min_momentum: float | None = None,
        global_step: Any = None,
        max_iteration: int | None = None,
        use_nesterov: bool = False,
        cooldown: float = 0.0,
        use_lars: bool = False,
        weight_decay: float = 0.0,
        lars_ratio: float = 0.001,
        name: str = "DyMomentum",
        *,
        max_mom: float | None = None,
        min_mom: float | None = None,
    ) -> None:
        high = _one_spelling("max_mom", max_momentum, max_mom, default=0.95)
        low = _one_spelling("min_mom", min_momentum, min_mom, default=0.85)
        _check_ranges(max_learning_rate, min_learning_rate, high, low)
        _check_rest(cooldown, max_iteration, weight_decay, lars_ratio)
        with tf.name_scope(name):
            self._rate = resolve_learning_rate(learning_rate, name)
            share = (tf.cast(self._rate, tf.float64) - min_learning_rate) / (
                max_learning_rate - min_learning_rate
            )
            moment = high - (high - low) * tf.clip_by_value(share, 0.0, 1.0)
            if cooldown:
                step = tf.train.get_or_create_global_step() if global_step is None else global_step
                cooling = tf.cast(step, tf.float64) >= (1.0 - cooldown) * float(max_iteration or 0)
                moment = tf.where(cooling, tf.constant(high, tf.float64), moment)
            self._moment = tf.cast(moment, tf.float32, name="momentum")
        self._use_lars = use_lars
        self._weight_decay = weight_decay
        self._lars_ratio = lars_ratio
        super().__init__(self._rate, self._moment, name=name, use_nesterov=use_nesterov)

    def get_momentum(self) -> tf.Tensor:
        """Returns the momentum of the current step, a float32 scalar."""
        return self._moment

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Applies gradients; see `tf.train.Optimizer.apply_gradients`."""
        pairs = with_gradient(grads_and_vars, self._name)
        with tf.name_scope(f"{self._name}_scale"):
            factors = [self._factor(grad, var) for grad, var in pairs]
            scaled = [
                (grad if factor is None else factor * dense(grad, var), var)
                for (grad, var), factor in zip(pairs, factors, strict=True)
            ]
        return self._update(scaled, factors, global_step, name)

    def _update(
        self, pairs: list[GradVar], factors: list[Any], global_step: Any, name: str | None
    ) -> tf.Operation:
        """Applies gradients already scaled by `factors`; a factor of None stands for 1."""
        return super().apply_gradients(pairs, global_step, name)

    def _factor(self, grad: Any, var: Any) -> tf.Tensor | None:
        if not self._use_lars or is_vector(var):
            return None
        weights = tf.convert_to_tensor(var)
        return trust_ratio(dense(grad, var), weights, self._lars_ratio, self._weight_decay)


def _one_spelling(short: str, value: float | None, other: float | None, default: float) -> float:
    if value is not None and other is not None:
        raise MoxTypeError(f"DyMomentumOptimizer: {short} and {short}entum are the same argument.")
    given = value if other is None else other
    return default if given is None else given


def _check_ranges(max_rate: float, min_rate: float, high: float, low: float) -> None:
    if not 0 <= min_rate < max_rate:
        raise MoxValueError(
            f"DyMomentumOptimizer: min_learning_rate is {min_rate} and max_learning_rate is "
            f"{max_rate}; they must satisfy 0 <= min_learning_rate < max_learning_rate."
        )
    if not 0 <= low <= high < 1:
        raise MoxValueError(
            f"DyMomentumOptimizer: min_momentum is {low} and max_momentum is {high}; "
            f"they must satisfy 0 <= min_momentum <= max_momentum < 1."
        )


def _check_rest(
    cooldown: float, max_iteration: int | None, weight_decay: float, lars_ratio: float
) -> None:
    if not 0 <= cooldown < 1:
        raise MoxValueError(f"DyMomentumOptimizer: cooldown is {cooldown}; it must be in [0, 1).")
    if cooldown and not (max_iteration is not None and max_iteration >= 1):
        raise MoxValueError(
            f"DyMomentumOptimizer: cooldown is a share of the run, so max_iteration must be its "
            f"number of steps, at least 1; it is {max_iteration}."
        )
    if not weight_decay >= 0:
        raise MoxValueError(
            f"DyMomentumOptimizer: weight_decay is {weight_decay}; it must be at least 0."
        )
    if not lars_ratio > 0:
        raise MoxValueError(f"DyMomentumOptimizer: lars_ratio is {lars_ratio}; it must be above 0.")
