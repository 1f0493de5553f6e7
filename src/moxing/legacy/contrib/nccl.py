"""`tf.contrib.nccl`: reductions over devices, by NCCL between GPUs and by additions elsewhere."""

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
    """What the reduction of all tensors is, on each tensor's device."""
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
    """The sum, for each device."""
    return _all(nccl_ops.all_sum, tf.add, tensors)


def all_prod(tensors: Any) -> list[Any]:
    """The product, for each device."""
    return _all(nccl_ops.all_prod, tf.multiply, tensors)


def all_min(tensors: Any) -> list[Any]:
    """The smallest, for each device."""
    return _all(nccl_ops.all_min, tf.minimum, tensors)


def all_max(tensors: Any) -> list[Any]:
    """The largest, for each device."""
    return _all(nccl_ops.all_max, tf.maximum, tensors)


def reduce_sum(tensors: Any) -> Any:
    """The sum, on the current device."""
    given = [tf.convert_to_tensor(tensor) for tensor in tensors]
    return nccl_ops.reduce_sum(given) if _on_gpus(given) else tf.add_n(given)


def broadcast(tensor: Any) -> Any:
    """The tensor: what reads it on another device gets it sent there."""
    return tf.identity(tensor)
