"""`tf.contrib.eager`: names that moved to `tf`, and small functions."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.client import device_lib
from tensorflow.python.eager.backprop import (
    gradients_function,
    make_vjp,
)
from tensorflow.python.eager.backprop import implicit_grad as implicit_gradients
from tensorflow.python.eager.backprop import (
    implicit_val_and_grad as implicit_value_and_gradients,
)
from tensorflow.python.eager.backprop import (
    val_and_grad_function as value_and_gradients_function,
)
from tensorflow.python.ops.resource_variable_ops import ResourceVariable as Variable
from tensorflow.python.ops.variable_scope import EagerVariableStore

__all__ = [
    "Checkpoint",
    "EagerVariableStore",
    "Iterator",
    "Variable",
    "defun",
    "enable_eager_execution",
    "executing_eagerly",
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "in_eager_mode",
    "list_devices",
    "make_vjp",
    "num_gpus",
    "py_func",
    "run",
    "value_and_gradients_function",
]

Checkpoint = tf.train.Checkpoint
defun = tf.function
enable_eager_execution = tf.enable_eager_execution
executing_eagerly = in_eager_mode = tf.executing_eagerly
py_func = tf.py_function
run = tf.app.run


def list_devices() -> list[str]:
    """Returns the names of this machine's devices."""
    return [device.name for device in device_lib.list_local_devices()]


def num_gpus() -> int:
    """Returns the number of GPUs."""
    return len(tf.config.list_physical_devices("GPU"))


def Iterator(dataset: Any) -> Any:  # noqa: N802, the name that programs know
    """Returns an iterator over a dataset's elements in eager mode."""
    return iter(dataset)
