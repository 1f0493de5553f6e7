"""Checks learning rates early, and converts them to values of the current graph."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError


def check_learning_rate(value: Any, where: str, name: str = "learning_rate") -> None:
    """Raises an error for a value that can't be a learning rate.

    Args:
      value: a number, a scalar tensor or variable, or a callable without arguments.
      where: the start of the message, such as `"get_optimizer_fn"`.
      name: the name of the argument in the message.

    Raises:
      MoxTypeError: the value is not a number, tensor or callable, is a string tensor, or is a
        callable that needs arguments.
      MoxValueError: a number is negative or not finite, or a tensor is not a scalar.
    """
    if _is_number(value):
        _check_number(float(value), where, name)
    elif tf.is_tensor(value):
        _check_tensor(value, where, name)
    elif callable(value):
        _check_callable(value, where, name)
    else:
        hint = f" Pass the number: float({value!r})." if isinstance(value, str) else ""
        raise MoxTypeError(
            f"{where}: {name} is {_describe(value)}; it must be a number, a scalar tensor, "
            f"or a function without arguments that makes one.{hint}"
        )


def resolve_learning_rate(value: Any, where: str, name: str = "learning_rate") -> Any:
    """Returns the learning rate as a float or a floating-point scalar tensor of this graph.

    A callable is called here, so that its operations are in the current default graph.

    Raises:
      MoxTypeError, MoxValueError: see `check_learning_rate`; or the tensor is in another graph.
    """
    check_learning_rate(value, where, name)
    made = value() if _is_function(value) else value
    if _is_function(made):
        raise MoxTypeError(f"{where}: the function given as {name} returned another function.")
    check_learning_rate(made, where, name)
    if _is_number(made):
        return float(made)
    if made.graph is not tf.get_default_graph():
        raise MoxValueError(
            f"{where}: {name} is the tensor {made.name!r} of another graph than the one being "
            f"built. Make it inside optimizer_fn, or pass a function that makes it: "
            f"{name}=lambda: ..."
        )
    return made if made.dtype.base_dtype.is_floating else tf.cast(made, tf.float32)


def _is_function(value: Any) -> bool:
    return callable(value) and not tf.is_tensor(value) and not isinstance(value, tf.Variable)


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, (int, float, np.integer, np.floating)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return _is_eager(value) and value.shape.rank == 0 and not value.dtype.is_bool


def _is_eager(value: Any) -> bool:
    return tf.is_tensor(value) and hasattr(value, "numpy") and not hasattr(value, "op")


def _check_number(number: float, where: str, name: str) -> None:
    if not math.isfinite(number) or number < 0:
        raise MoxValueError(f"{where}: {name} is {number:g}; it must be finite, and 0 or more.")


def _check_tensor(tensor: Any, where: str, name: str) -> None:
    dtype = tensor.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer):
        raise MoxTypeError(f"{where}: {name} is a tensor of {dtype.name}; it must be of numbers.")
    if tensor.shape.rank not in (None, 0):
        raise MoxValueError(
            f"{where}: {name} is a tensor of shape {tensor.shape}; it must be a scalar."
        )


def _check_callable(function: Callable[..., Any], where: str, name: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some built-ins have no signature; they are called unchecked.
        return
    try:
        signature.bind()
    except TypeError as error:
        raise MoxTypeError(
            f"{where}: {name} is a function that cannot be called without arguments ({error}). "
            f"Wrap it: {name}=lambda: f(...)"
        ) from None


def _describe(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
