"""What a model function may call while it builds: this device's collections, variable types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError


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
    stored = tf.as_dtype(force_dtype)
    if not stored.is_floating:
        raise MoxTypeError(f"mox.var_scope: force_dtype={stored.name} is no floating-point type.")

    def getter(
        getter: Callable[..., Any], name: str, *args: Any, dtype: Any = None, **kwargs: Any
    ) -> Any:
        asked = None if dtype is None else tf.as_dtype(dtype)
        if asked is None or not asked.is_floating or asked == stored:
            return getter(name, *args, dtype=dtype, **kwargs)
        initializer = kwargs.get("initializer")
        if isinstance(initializer, tf.Tensor):
            kwargs["initializer"] = tf.cast(initializer, stored)
        return tf.cast(getter(name, *args, dtype=stored, **kwargs), asked)

    with tf.variable_scope(
        tf.get_variable_scope(), custom_getter=getter, auxiliary_name_scope=False
    ):
        yield
