"""Functions for model functions: collections of the current call, and dtypes of variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import precision
from moxing.errors import MoxTypeError, shown


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Returns the entries that this call of model_fn put into a graph collection.

    Args:
        key: the name of the collection, such as `tf.GraphKeys.REGULARIZATION_LOSSES`.
        scope: the prefix of the names of the entries to return; None: all.

    Returns:
        A new list, in order.
    """
    return list(tf.get_collection(key, scope))


@contextmanager
def var_scope(force_dtype: Any = None) -> Iterator[None]:
    """In the block, new variables are stored as `force_dtype` and read as the requested dtype.

    With `force_dtype=tf.float32`, a model built for float16 inputs computes in float16 on float32
    variables. If the dtypes differ, `tf.get_variable` returns a tensor instead of a variable. From
    the block on, operations of the graph that take values of both dtypes compute in float32, so a
    loss of float16 and regularization losses of float32 can be added.

    Args:
        force_dtype: the dtype in which floating-point variables are stored; None: the requested
            dtype.

    Raises:
        MoxTypeError: force_dtype is not a floating-point dtype.
    """
    if force_dtype is None:
        yield
        return
    try:
        stored = tf.as_dtype(force_dtype)
    except TypeError as error:
        raise MoxTypeError(
            f"mox.var_scope: force_dtype={shown(force_dtype)} is no type of TensorFlow's, such as"
            " tf.float32."
        ) from error
    if not stored.is_floating:
        raise MoxTypeError(f"mox.var_scope: force_dtype={stored.name} is no floating-point type.")
    with precision.stored_as(stored):
        yield
