"""Lets every ready-made Estimator and head take optimizers of `tf.train` and of Keras."""

from __future__ import annotations

import types
from typing import Any

import tensorflow.compat.v1 as tf


class OfKeras(tf.train.Optimizer):
    """Wraps a tf_keras optimizer in the interface of `tf.train.Optimizer`.

    Args:
        optimizer: the tf_keras optimizer.
    """

    def __init__(self, optimizer: Any) -> None:
        super().__init__(False, type(optimizer).__name__)
        self._optimizer = optimizer

    def compute_gradients(self, loss: Any, var_list: Any = None, **others: Any) -> list[Any]:
        del others
        variables = list(var_list or tf.trainable_variables())
        return list(zip(tf.gradients(loss, variables), variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        del global_step, name
        return self._optimizer.apply_gradients(
            [pair for pair in grads_and_vars if pair[0] is not None]
        )


def instance_of_v1(original: Any) -> Any:
    """Returns the library's `get_optimizer_instance`, extended to Keras optimizers."""

    def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Any:
        if not isinstance(opt, str) and callable(opt):
            opt = opt()
        return OfKeras(opt) if _is_of_keras(opt) else original(opt, learning_rate)

    return get_optimizer_instance


def train_op_of_head(original: Any) -> Any:
    """Returns the heads' `create_estimator_spec_train_op`, extended to `tf.train` optimizers."""

    def create(head_name: Any, optimizer: Any = None, **others: Any) -> Any:
        if not isinstance(optimizer, tf.train.Optimizer):
            return original(head_name, optimizer=optimizer, **others)

        def train_op_fn(loss: Any) -> Any:
            return optimizer.minimize(loss, tf.train.get_global_step())

        return original(head_name, **{**others, "train_op_fn": train_op_fn})

    return create


def adapt(optimizers: types.ModuleType, base_head: types.ModuleType) -> None:
    """Replaces both functions in the library's modules."""
    v1, v2 = optimizers.get_optimizer_instance, base_head.create_estimator_spec_train_op
    optimizers.get_optimizer_instance = instance_of_v1(v1)
    base_head.create_estimator_spec_train_op = train_op_of_head(v2)


def _is_of_keras(optimizer: Any) -> bool:
    return not isinstance(optimizer, tf.train.Optimizer) and hasattr(optimizer, "apply_gradients")
