"""LARS: scales each layer's gradient by the norm of its weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.optimizer.gradients import (
    GradVar,
    compiled,
    dense,
    is_vector,
    matches,
    trust_ratio,
    with_gradient,
)
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper


class LarsOptimizer(OptimizerWrapper):
    """Layer-wise adaptive rate scaling around any optimizer; the paper uses momentum.

    For the weights w of each layer, with gradient g, the wrapped optimizer gets

        ratio |w| / (|g| + weight_decay |w|) * (g + weight_decay w)

    so weight decay must not also be in the loss. If |w| or |g| is 0, the factor is 1. Sparse
    gradients become dense, because weight decay changes every row.

    Args:
      opt: the wrapped optimizer.
      ratio: the trust coefficient (eta), above 0.
      weight_decay: the decay coefficient (beta), at least 0.
      skip_vectors: whether gradients of variables of rank 0 and 1 (biases, batch norm) are left
        unchanged, without decay.
      exclude_patterns: regular expressions; the gradients of variables whose names match are left
        unchanged, too.
      name: the name scope of the operations.

    Reference: You, Gitman, Ginsburg, Large Batch Training of Convolutional Networks (2017),
    arXiv:1708.03888, algorithm 1.
    """

    def __init__(
        self,
        opt: tf.train.Optimizer,
        ratio: float = 0.001,
        weight_decay: float = 0.0001,
        skip_vectors: bool = True,
        exclude_patterns: Sequence[str] = (),
        name: str = "lars",
    ) -> None:
        super().__init__(opt, name)
        if not ratio > 0:
            raise MoxValueError(f"lars: ratio is {ratio}; it must be above 0.")
        if not weight_decay >= 0:
            raise MoxValueError(f"lars: weight_decay is {weight_decay}; it must be at least 0.")
        self._ratio = ratio
        self._weight_decay = weight_decay
        self._skip_vectors = skip_vectors
        self._excluded = compiled("lars", exclude_patterns)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Applies the scaled gradients with the wrapped optimizer."""
        pairs = with_gradient(grads_and_vars, self._name)
        with tf.name_scope(self._name):
            scaled = [(self._scale(grad, var), var) for grad, var in pairs]
        return self.optimizer.apply_gradients(scaled, global_step, name)

    def _scale(self, grad: Any, var: Any) -> Any:
        if (self._skip_vectors and is_vector(var)) or matches(var, self._excluded):
            return grad
        gradient, weights = dense(grad, var), tf.convert_to_tensor(var)
        factor = trust_ratio(gradient, weights, self._ratio, self._weight_decay)
        return factor * (gradient + self._weight_decay * weights)
