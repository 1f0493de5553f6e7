"""Small functions that `tensorflow.python` lost."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def scalar() -> tf.TensorShape:
    """The shape of one number."""
    return tf.TensorShape([])


def vector(length: int | None) -> tf.TensorShape:
    """The shape of a vector."""
    return tf.TensorShape([length])


def matrix(rows: int | None, cols: int | None) -> tf.TensorShape:
    """The shape of a matrix."""
    return tf.TensorShape([rows, cols])


def unknown_shape(ndims: int | None = None) -> tf.TensorShape:
    """A shape of which at most the number of dimensions is known."""
    return tf.TensorShape(None) if ndims is None else tf.TensorShape([None] * ndims)
