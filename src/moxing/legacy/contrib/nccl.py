"""`tf.contrib.nccl`: reductions over devices, with NCCL on GPUs and plain operations elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import nccl_ops

from moxing.errors import MoxValueError


def _on_gpus(tensors: Sequence[Any]) -> bool:
    return len(tensors) > 1 and all("GPU" in tensor.device.upper() for tensor in tensors)


def _all(kernel: Callable[..., Any], reduce: Callable[[Any, Any], Any], tensors: Any) -> list[Any]:
    """Returns the reduction of all tensors, on each tensor's device."""
    given = [tf.convert_to_tensor(tensor) for tensor in tensors]
    if not given:
        raise MoxValueError("Must pass >0 tensors to all reduce operations")
    if _on_gpus(given):
        return list(kernel(given))
    total = functools.reduce(reduce, given)
    results = []
    for tensor in given:
        with tf.device(tensor.device):
            results.append(tf.identity(total))
    return results


def all_sum(tensors: Any) -> list[Any]:
    """Returns the sum, on each tensor's device."""
    return _all(nccl_ops.all_sum, tf.add, tensors)


def all_prod(tensors: Any) -> list[Any]:
    """Returns the product, on each tensor's device."""
    return _all(nccl_ops.all_prod, tf.multiply, tensors)


def all_min(tensors: Any) -> list[Any]:
    """Returns the elementwise minimum, on each tensor's device."""
    return _all(nccl_ops.all_min, tf.minimum, tensors)


def all_max(tensors: Any) -> list[Any]:
    """Returns the elementwise maximum, on each tensor's device."""
    return _all(nccl_ops.all_max, tf.maximum, tensors)


def reduce_sum(tensors: Any) -> Any:
    """Returns the sum, on the current device."""
    given = [tf.convert_to_tensor(tensor) for tensor in tensors]
    return nccl_ops.reduce_sum(given) if _on_gpus(given) else tf.add_n(given)


def broadcast(tensor: Any) -> Any:
    """Returns the tensor itself: TensorFlow sends it to the devices that read it."""
    return tf.identity(tensor)
