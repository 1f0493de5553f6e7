"""Leaves the counting of steps to the engine, where a model function counts by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

_COUNTING = ("assign", "assign_add")


@contextmanager
def uncounted() -> Iterator[None]:
    """In the block, assignments to the global step only give the value that it would have.

    A step of the engine is one update and adds one. Every device's call of a model function would
    count for itself, and each at another moment.
    """
    step = tf.train.get_global_step()
    if step is None:
        yield
        return
    for name in _COUNTING:
        setattr(step, name, _value_of(step, name))
    try:
        yield
    finally:
        for name in _COUNTING:
            delattr(step, name)


def _value_of(step: Any, method: str) -> Callable[..., Any]:
    def assign(
        value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        del use_locking
        value = tf.convert_to_tensor(value, step.dtype.base_dtype)
        with tf.name_scope(name, "global_step_as_counted"):
            result = tf.identity(value if method == "assign" else step.read_value() + value)
        return result if read_value else result.op

    return assign
