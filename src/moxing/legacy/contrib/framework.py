"""Small functions of `tf.contrib.framework`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """Returns the tensor with its shape checked: now if the shape is known, else at run time."""
    tensor = tf.convert_to_tensor(tensor)
    if isinstance(expected_shape, tf.Tensor):
        known = tf.get_static_value(expected_shape)
        if known is None:
            check = tf.assert_equal(tf.shape(tensor), expected_shape)
            with tf.control_dependencies([check]):
                return tf.identity(tensor)
        expected_shape = known.tolist()
    expected = tf.TensorShape(expected_shape)
    if not tensor.shape.is_compatible_with(expected):
        raise MoxValueError(f"{tensor.name} has the shape {tensor.shape}, not {expected}.")
    if tensor.shape.is_fully_defined() or not expected.is_fully_defined():
        return tensor
    check = tf.assert_equal(tf.shape(tensor), expected.as_list())
    with tf.control_dependencies([check]):
        checked = tf.identity(tensor)
    checked.set_shape(expected)
    return checked


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """Returns the tensor, after checking that its shape equals another tensor's shape."""
    shape = expected_tensor.shape
    return with_shape(shape if shape.is_fully_defined() else tf.shape(expected_tensor), tensor)


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Any:
    """Returns the sum of all elements of all tensors."""
    with tf.name_scope(name, "reduce_sum_n", list(tensors)):
        return tf.add_n([tf.reduce_sum(tensor) for tensor in tensors])


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> Any:
    """`tf.sort`."""
    return tf.sort(values, axis, direction, name)


def load_checkpoint(filepattern: str) -> Any:
    """Returns a reader of a checkpoint; see `tf.train.load_checkpoint`."""
    return tf.train.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: str, name: str) -> Any:
    """Returns the value of a variable in a checkpoint, an array.

    Args:
        checkpoint_dir: a checkpoint, or a directory of checkpoints.
        name: the name of the variable in the checkpoint.
    """
    return tf.train.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: str) -> list[tuple[str, list[int]]]:
    """Returns the names and shapes of the variables in a checkpoint; see `load_variable`."""
    return tf.train.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: str, assignment_map: Any) -> None:
    """Has variables start from the values in a checkpoint; see `tf.train.init_from_checkpoint`."""
    tf.train.init_from_checkpoint(checkpoint_dir, assignment_map)


def smart_constant_value(pred: Any) -> Any:
    """Returns the value of a boolean if it is known before the graph runs, else None."""
    if isinstance(pred, tf.Tensor):
        known = tf.get_static_value(pred)
        return None if known is None else bool(known)
    return bool(pred)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Fills a reference variable with zeros, and returns the variable's reference.

    Args:
        ref: a variable of known shape.
        use_locking: whether the assignment takes the variable's lock.
        name: of the operation.
    """
    return tf.assign(
        ref, tf.zeros(ref.shape, ref.dtype.base_dtype), use_locking=use_locking, name=name
    )
