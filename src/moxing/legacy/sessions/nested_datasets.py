"""Lets the datasets that `tf.data` hands to functions tell their types, as in TensorFlow 1.x.

`group_by_window` and its kin call functions with datasets; TensorFlow 2 makes those of a class that
has `element_spec` only. `map` takes its number of parallel calls as a tensor of int32 too, the only
type that TensorFlow 1.x took; TensorFlow 2 takes int64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_NAMES = ("output_classes", "output_shapes", "output_types")


def install() -> None:
    """From now on every dataset has `output_shapes` and its kin."""
    import tensorflow.compat.v1 as tf
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if not hasattr(dataset_ops.DatasetV2, name):
            asked: Any = getattr(tf.data, f"get_{name}")
            setattr(dataset_ops.DatasetV2, name, property(asked))
    for kind, name in _maps():
        method = vars(kind)[name]
        if not hasattr(method, "takes_int32"):
            setattr(kind, name, _taking_int32(method))


def uninstall() -> None:
    """Undoes `install`."""
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if name in vars(dataset_ops.DatasetV2):
            delattr(dataset_ops.DatasetV2, name)
    for kind, name in _maps():
        method = vars(kind)[name]
        if hasattr(method, "takes_int32"):
            setattr(kind, name, method.__wrapped__)


def _maps() -> list[tuple[Any, str]]:
    from tensorflow.python.data.ops import dataset_ops

    v1, v2 = dataset_ops.DatasetV1, dataset_ops.DatasetV2
    return [(v2, "map"), (v1, "map"), (v1, "map_with_legacy_function")]


def _taking_int32(original: Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow.compat.v1 as tf

    @functools.wraps(original)
    def method(
        self: Any, map_func: Any, num_parallel_calls: Any = None, *given: Any, **named: Any
    ) -> Any:
        if tf.is_tensor(num_parallel_calls):
            num_parallel_calls = tf.cast(num_parallel_calls, tf.int64)
        return original(self, map_func, num_parallel_calls, *given, **named)

    method.takes_int32 = True  # type: ignore[attr-defined]
    return method
