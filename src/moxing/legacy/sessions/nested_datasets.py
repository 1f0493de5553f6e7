"""Lets the datasets that `tf.data` hands to functions tell their types, as in TensorFlow 1.x.

`group_by_window` and its kin call functions with datasets; TensorFlow 2 makes those of a class that
has `element_spec` only. `map` takes its number of parallel calls as a tensor of int32 too, the only
type that TensorFlow 1.x took; TensorFlow 2 takes int64. `prefetch` takes an integer of NumPy, too,
as a size that a program computes from a shape is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_MARK = "of_openmox"
_NAMES = ("output_classes", "output_shapes", "output_types")


def install() -> None:
    """From now on every dataset has `output_shapes` and its kin."""
    import tensorflow.compat.v1 as tf
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if not hasattr(dataset_ops.DatasetV2, name):
            asked: Any = getattr(tf.data, f"get_{name}")
            setattr(dataset_ops.DatasetV2, name, property(asked))
    for kind, name, change in _changed():
        method = vars(kind)[name]
        if not hasattr(method, _MARK):
            setattr(kind, name, change(method))


def uninstall() -> None:
    """Undoes `install`."""
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if name in vars(dataset_ops.DatasetV2):
            delattr(dataset_ops.DatasetV2, name)
    for kind, name, _ in _changed():
        method = vars(kind)[name]
        if hasattr(method, _MARK):
            setattr(kind, name, method.__wrapped__)


def _changed() -> list[tuple[Any, str, Callable[..., Any]]]:
    from tensorflow.python.data.ops import dataset_ops

    v1, v2 = dataset_ops.DatasetV1, dataset_ops.DatasetV2
    return [
        (v2, "map", _taking_int32),
        (v1, "map", _taking_int32),
        (v1, "map_with_legacy_function", _taking_int32),
        (v2, "prefetch", _taking_numpy),
    ]


def _taking_int32(original: Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow.compat.v1 as tf

    @functools.wraps(original)
    def method(
        self: Any, map_func: Any, num_parallel_calls: Any = None, *given: Any, **named: Any
    ) -> Any:
        if tf.is_tensor(num_parallel_calls):
            num_parallel_calls = tf.cast(num_parallel_calls, tf.int64)
        return original(self, map_func, num_parallel_calls, *given, **named)

    setattr(method, _MARK, True)
    return method


def _taking_numpy(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, buffer_size: Any, *given: Any, **named: Any) -> Any:
        if isinstance(buffer_size, (np.integer, np.ndarray)):
            buffer_size = buffer_size.item()
        return original(self, buffer_size, *given, **named)

    setattr(method, _MARK, True)
    return method
