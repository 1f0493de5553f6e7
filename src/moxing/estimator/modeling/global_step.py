"""Keeps a model function from incrementing the global step, which the engine increments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

_COUNTING = ("assign", "assign_add")


@contextmanager
def uncounted() -> Iterator[None]:
    """In the block, assignments to the global step only return the value it would have.

    The engine adds one to the global step per update. Each device's call of the model function
    would otherwise add its own increment, at another moment.
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
