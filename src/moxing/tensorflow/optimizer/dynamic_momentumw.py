"""`DyMomentumOptimizer` with decoupled weight decay."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer
from moxing.tensorflow.optimizer.gradients import GradVar, is_vector


class DyMomentumWOptimizer(DyMomentumOptimizer):
    """`DyMomentumOptimizer` that also shrinks the weights: w = w - learning_rate weight_decay w.

    The decay does not enter the momentum, and must not also be in the loss. With `use_lars`, it is
    multiplied by the same factor as the gradient. Variables of rank 0 and 1 (biases, batch norm) do
    not decay.

    Arguments and errors are those of `DyMomentumOptimizer`.

    Reference: Loshchilov, Hutter, Decoupled Weight Decay Regularization (2019), arXiv:1711.05101,
    algorithm 1 (SGDW), where its lambda is weight_decay times the peak learning rate.
    """

    def _update(
        self, pairs: list[GradVar], factors: list[Any], global_step: Any, name: str | None
    ) -> tf.Operation:
        gradients = [grad for grad, _ in pairs]
        decays = []
        # The gradients must be computed from the weights before the decay.
        with tf.control_dependencies(gradients), tf.name_scope(f"{self._name}_decay"):
            for (_, var), factor in zip(pairs, factors, strict=True):
                if self._weight_decay and not is_vector(var):
                    decays.append(self._decay(var, factor))
        with tf.control_dependencies(decays):
            return super()._update(pairs, factors, global_step, name)

    def _decay(self, var: Any, factor: tf.Tensor | None) -> Any:
        weights = var.read_value()
        share = tf.cast(self._learning_rate, weights.dtype) * self._weight_decay
        if factor is not None:
            share *= tf.cast(factor, weights.dtype)
        return var.assign_sub(share * weights)
