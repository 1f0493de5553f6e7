"""`tf.contrib.memory_stats`: the memory that the operations of a device use, read in a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf


def BytesInUse() -> Any:
    """Returns an int64 scalar: the bytes in use on the first GPU; 0 without a GPU."""
    return _read("BytesInUse", lambda: _used("current"))


def MaxBytesInUse() -> Any:
    """Returns an int64 scalar: the most bytes used so far on the first GPU; 0 without a GPU."""
    return _read("MaxBytesInUse", lambda: _used("peak"))


def BytesLimit() -> Any:
    """Returns an int64 scalar: the bytes that TensorFlow may use on the first GPU; 0 without."""
    return _read("BytesLimit", _limit)


def _read(name: str, function: Callable[[], int]) -> Any:
    # TensorFlow 1.x counted no bytes on a CPU either, unless its own tests asked it to.
    value = tf.py_func(function, [], tf.int64, stateful=True, name=name)
    value.set_shape([])
    return value


def _used(key: str) -> int:
    if not tf.config.list_physical_devices("GPU"):
        return 0
    return int(tf.config.experimental.get_memory_info("GPU:0")[key])


def _limit() -> int:
    from tensorflow.python.client import device_lib

    gpus = [each for each in device_lib.list_local_devices() if each.device_type == "GPU"]
    return int(gpus[0].memory_limit) if gpus else 0
