"""Estimates the batch size with which a step would have fit into the memory of its device."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

# The share of a device's memory that tensors get: the rest is for code, scratch memory and gaps.
_SHARE = 0.9
# Operations that give their input on, in the same memory.
_SAME_MEMORY = ("Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "StopGradient")
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")


@dataclass(frozen=True)
class Room:
    """The memory that a step has, and what it was for.

    Attributes:
        limit: the bytes that TensorFlow may use of a device.
        batch: samples of a batch on that device; None: not known before it runs.
    """

    limit: int
    batch: int | None


def room(session: tf.Session, batch: int | None) -> Room | None:
    """The room of a session's steps, in which a batch did not fit; None without a GPU."""
    limits = [d.memory_limit_bytes for d in session.list_devices() if d.device_type == "GPU"]
    return Room(min(limits), batch) if limits else None


def fitting(graph: tf.Graph, limit: int, batch: int) -> int | None:
    """The largest batch, below one that did not fit, of which the estimated memory fits.

    The estimate counts the variables, and the tensors that live at the same time while operations
    run in the order in which they were made. The batch that did not fit corrects an estimate that
    is too low.

    Args:
        graph: the graph that ran.
        limit: the bytes that TensorFlow may use of the device.
        batch: the samples of the batch that did not fit.

    Returns:
        A number of samples; 0: not one sample fits. None: no tensor's size depends on the batch.
    """
    variables, curve = _needs(graph, batch)
    free = limit * _SHARE - variables
    if not any(sample for _, sample in curve):
        return None

    def fits(count: float, more: float = 1.0) -> bool:
        return all(whole + count * more * sample <= free for whole, sample in curve)

    more = 1.0
    if fits(batch):
        more = min((free - whole) / (batch * each) for whole, each in curve if each)
    found = bisect.bisect_left(range(1, batch), True, key=lambda count: not fits(count, more))
    return found - found % 8 if found > 16 else found


def bytes_of(tensor: tf.Tensor) -> int:
    """The size of a tensor; 0 where its shape or type does not say it."""
    count = tensor.shape.num_elements()
    return (count or 0) * width(tensor.dtype.base_dtype)


def width(dtype: tf.DType) -> int:
    """The bytes of a number; 0 for what is not a number."""
    return dtype.size if dtype not in (tf.string, tf.resource, tf.variant) else 0


def _needs(graph: tf.Graph, batch: int) -> tuple[float, list[tuple[float, float]]]:
    """The bytes of the variables, and for each operation those of the tensors that live then.

    Tensors are counted by their bytes whatever the batch is, and by those for each sample.
    """
    operations = graph.get_operations()
    made = [op for op in operations if op.type in _VARIABLES]
    of_variables = {tuple(_shape(op).as_list()) for op in made if _shape(op).rank is not None}
    number = {op.name: place for place, op in enumerate(operations)}
    end = _last_uses(operations, number)
    changes = [[0.0, 0.0] for _ in range(len(operations) + 1)]
    for op in operations:
        if op.type in (*_SAME_MEMORY, *_VARIABLES, "ReadVariableOp", "Const"):
            continue
        for tensor in op.outputs:
            if tensor.name in end:
                for kind, nbytes in enumerate(_parts(tensor, batch, of_variables)):
                    changes[number[op.name]][kind] += nbytes
                    changes[end[tensor.name] + 1][kind] -= nbytes
    whole, each = (itertools.accumulate(change[kind] for change in changes) for kind in (0, 1))
    return float(sum(map(_of_variable, made))), list(zip(whole, each, strict=True))


def _last_uses(operations: Sequence[tf.Operation], number: Mapping[str, int]) -> dict[str, int]:
    """For each tensor that is read, the number of the last operation that needs its memory."""
    end: dict[str, int] = {}
    for op in reversed(operations):
        last = number[op.name]
        if op.type in _SAME_MEMORY:
            last = max(last, *(end.get(tensor.name, 0) for tensor in op.outputs))
        for tensor in op.inputs:
            end[tensor.name] = max(end.get(tensor.name, 0), last)
    return end


def _parts(
    tensor: tf.Tensor, batch: int, of_variables: Collection[tuple[int, ...]]
) -> tuple[float, float]:
    """The bytes of a tensor whatever the batch is, and for each sample: one of the two is 0.

    Args:
        tensor: a result of an operation.
        batch: the samples of the batch, which may be parts of the first dimension.
        of_variables: the shapes of variables, which their gradients have too.
    """
    if tensor.shape.rank is None:
        return 0.0, 0.0
    shape = tensor.shape.as_list()
    count = math.prod(1 if length is None else length for length in shape)
    nbytes = float(count * width(tensor.dtype.base_dtype))
    if None in shape:
        return 0.0, nbytes
    if shape and (
        shape[0] == batch or (_divides(batch, shape) and tuple(shape) not in of_variables)
    ):
        return 0.0, nbytes / batch
    return nbytes, 0.0


def _divides(batch: int, shape: list[int]) -> bool:
    return shape[0] > 0 and shape[0] % batch == 0


def _of_variable(op: tf.Operation) -> int:
    return (_shape(op).num_elements() or 0) * width(tf.as_dtype(op.get_attr("dtype")).base_dtype)


def _shape(op: tf.Operation) -> tf.TensorShape:
    return tf.TensorShape(op.get_attr("shape"))
