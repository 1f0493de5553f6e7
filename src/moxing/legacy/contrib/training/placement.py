"""`tf.contrib.training`'s strategies that select a parameter server for each variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def byte_size_load_fn(op: Any) -> int:
    """Returns the size of a variable in bytes.

    Raises:
        MoxValueError: the size of the operation's output is unknown.
    """
    if len(op.outputs) != 1 or not op.outputs[0].shape.is_fully_defined():
        shape = op.get_attr("shape") if "shape" in op.node_def.attr else None
        if shape is None or tf.TensorShape(shape).num_elements() is None:
            raise MoxValueError(f"the size of {op.name} is not known.")
        return tf.TensorShape(shape).num_elements() * op.get_attr("dtype").size
    tensor = op.outputs[0]
    if tensor.dtype == tf.resource:
        shape, dtype = tf.TensorShape(op.get_attr("shape")), tf.as_dtype(op.get_attr("dtype"))
        return shape.num_elements() * dtype.size
    return tensor.shape.num_elements() * tensor.dtype.base_dtype.size


class GreedyLoadBalancingStrategy:
    """A `ps_strategy` that places each variable on the server with the smallest load."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], Any]) -> None:
        self._loads, self._load_fn = np.zeros(num_tasks), load_fn

    def __call__(self, op: Any) -> int:
        """Returns the task index of the server for a variable's operation."""
        task = int(self._loads.argmin())
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """A `ps_strategy` that places variables on servers at random."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._draw, self._servers = np.random.RandomState(seed), num_ps_tasks

    def __call__(self, op: Any) -> int:
        """Returns the task index of the server for a variable's operation."""
        return int(self._draw.randint(self._servers))
