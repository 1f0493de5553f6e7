"""Input functions of the arrays that `fit`, `evaluate` and `predict` of `tf.contrib.learn` take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from moxing.errors import MoxValueError
from moxing.estimator.inputs import numpy_input_fn


def input_fn_of(
    method: str,
    x: Any,
    y: Any,
    input_fn: Callable[..., Any] | None,
    batch_size: int | None,
    trains: bool,
) -> Callable[..., Any]:
    """Returns the input function of a call: the given function, or one that reads the given arrays.

    Args:
        method: the method that was called, for messages.
        x, y: arrays of features and labels, or dicts of arrays; None: `input_fn` is given.
        input_fn: an input function; None: `x` is given.
        batch_size: the number of samples in a batch; None: all.
        trains: whether the data is shuffled and repeated without end.

    Raises:
        MoxValueError: neither or both of `x` and `input_fn` are given.
    """
    if (x is None) == (input_fn is None):
        given = "neither x nor" if x is None else "both x and"
        raise MoxValueError(f"Estimator.{method} has {given} input_fn; give one of them.")
    if input_fn is not None:
        return input_fn
    features, labels = _arrays(x), None if y is None else _arrays(y)
    first = next(iter(features.values())) if isinstance(features, Mapping) else features
    return numpy_input_fn(
        features,
        labels,
        batch_size=batch_size or max(len(first), 1),
        num_epochs=None if trains else 1,
        shuffle=trains,
    )


def _arrays(value: Any) -> Any:
    """Returns arrays as TensorFlow 1.x fed them: floating-point numbers have 32 bits."""
    if isinstance(value, Mapping):
        return {name: _arrays(item) for name, item in value.items()}
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array
