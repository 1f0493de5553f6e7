"""Learning rate schedules of `tf.keras.experimental` until TensorFlow 2.4.

The formulas are those of `tf.compat.v1.train.linear_cosine_decay` and its noisy form (Bello et al.,
"Neural Optimizer Search with Reinforcement Learning", 2017).
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
from tf_keras.optimizers.schedules import LearningRateSchedule


class LinearCosineDecay(LearningRateSchedule):
    """A rate that falls linearly, times a cosine.

    At a step s of n = decay_steps the rate is
    `initial_learning_rate * ((alpha + l) * c + beta)` with l = (n - s) / n and
    c = (1 + cos(pi * 2 * num_periods * s / n)) / 2; s stays n after n.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._given: dict[str, Any] = {
            "initial_learning_rate": initial_learning_rate,
            "decay_steps": decay_steps,
            "num_periods": num_periods,
            "alpha": alpha,
            "beta": beta,
            "name": name,
        }

    def __call__(self, step: Any) -> Any:
        given = self._given
        with tf.name_scope(given["name"] or type(self).__name__):
            rate = tf.convert_to_tensor(given["initial_learning_rate"])
            share = tf.minimum(
                tf.cast(step, rate.dtype) / tf.cast(given["decay_steps"], rate.dtype), 1.0
            )
            angle = 2.0 * math.pi * tf.cast(given["num_periods"], rate.dtype) * share
            cosine = 0.5 * (1.0 + tf.cos(angle))
            linear = 1.0 - share + self._noise(share * given["decay_steps"])
            return rate * ((given["alpha"] + linear) * cosine + given["beta"])

    def _noise(self, step: Any) -> Any:
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return dict(self._given)


class NoisyLinearCosineDecay(LinearCosineDecay):
    """A rate that falls linearly with noise, times a cosine.

    Normal noise of variance `initial_variance / (1 + s) ** variance_decay` is added to l.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        initial_variance: float = 1.0,
        variance_decay: float = 0.55,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self._given |= {"initial_variance": initial_variance, "variance_decay": variance_decay}

    def _noise(self, step: Any) -> Any:
        given = self._given
        variance = given["initial_variance"] / tf.pow(1.0 + step, given["variance_decay"])
        return tf.random.normal(tf.shape(step), dtype=step.dtype) * tf.sqrt(variance)
