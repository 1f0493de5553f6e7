"""What a model function may call while it builds: this device's collections, variable types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import precision
from moxing.errors import MoxTypeError, shown


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """What this call of model_fn put into a graph collection.

    Args:
        key: name of the collection, such as `tf.GraphKeys.REGULARIZATION_LOSSES`.
        scope: only entries whose name starts with it.

    Returns:
        A new list, in order.
    """
    return list(tf.get_collection(key, scope))


@contextmanager
def var_scope(force_dtype: Any = None) -> Iterator[None]:
    """Variables made inside are stored as `force_dtype` and read as the type they were asked for.

    With `force_dtype=tf.float32` a model built for float16 inputs computes in float16 on float32
    variables. `tf.get_variable` then returns a tensor, not a variable, where the types differ.

    Args:
        force_dtype: type in which floating-point variables are stored; None: as asked for.

    Raises:
        MoxTypeError: not a floating-point type.
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
