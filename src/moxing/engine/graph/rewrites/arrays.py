"""Keeps large arrays out of the graph, where `from_tensor_slices` would put them as constants.

A graph that contains all the data takes long to plan, is copied for every session and sent to every
server, and can't be larger than 2 GB. The dataset has the same elements: it gets the array when its
iterator is initialized.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

_LARGE = 1 << 20  # Bytes.
_NAME = "from_tensor_slices"


@contextmanager
def out_of_graph() -> Iterator[None]:
    """In the block, large arrays given to `from_tensor_slices` don't become graph constants."""
    classes: list[Any] = [tf.data.Dataset, tf2.data.Dataset]
    kept = [(kind, kind.__dict__[_NAME]) for kind in classes if _NAME in kind.__dict__]
    for kind, original in kept:
        setattr(kind, _NAME, staticmethod(_given(original.__func__)))
    try:
        yield
    finally:
        for kind, original in kept:
            setattr(kind, _NAME, original)


def _given(original: Any) -> Any:
    def from_tensor_slices(tensors: Any, *arguments: Any, **keywords: Any) -> Any:
        return original(_replaced(tensors), *arguments, **keywords)

    return from_tensor_slices


def _replaced(value: Any) -> Any:
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_replaced(item) for item in value)
    if isinstance(value, dict):
        return {key: _replaced(item) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.nbytes >= _LARGE and value.dtype.kind in "biuf":
        tensor = tf.numpy_function(lambda: value, [], tf.as_dtype(value.dtype), stateful=False)
        tensor.set_shape(value.shape)
        return tensor
    return value
