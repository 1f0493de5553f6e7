"""Finds the reads of variables that an update has to wait for, since no data makes it wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.engine.parallel.replicas import Replica

_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")
# What TensorFlow may know without looking at the values, and then does not wait for.
_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")


def of(parts: Sequence[Replica]) -> list[tf.Operation]:
    """What reads variables for the values of a step, which are those of before the update."""
    models = [part.model for part in parts]
    values = [loss.tensor for model in models for loss in model.losses]
    values += [v for m in models for v in (*m.log.values(), *m.outputs.values())]
    return [
        op
        for op in ancestry.behind(values)
        if op.type in _READS and op._get_control_flow_context() is None
    ]


def unordered(
    reads: Sequence[tf.Operation], optimizer: tf.train.Optimizer, moved: Iterable[tuple[Any, Any]]
) -> list[tf.Operation]:
    """Those of the reads that could still come after the update.

    An optimizer of TensorFlow's own moves a variable only with its gradient in hand, so what the
    gradient is computed from is read by then. An edge that says so again would cost a message
    between the devices for each read.

    Args:
        reads: operations of the current graph.
        optimizer: what moves the variables; of a class that may move them otherwise, all remain.
        moved: each gradient with its variable.
    """
    if not _waits_for_gradients(optimizer):
        return list(reads)
    bits = {op.name: 1 << number for number, op in enumerate(reads)}
    behind = _bits_behind(bits)
    known: dict[str, int] = {}  # What is behind every gradient of a variable, by its handle.
    for gradient, variable in moved:
        if not hasattr(
            variable, "handle"
        ):  # A reference variable is read by no operation of these.
            continue
        parts = tf.nest.flatten(gradient, expand_composites=True)
        own = 0
        for part in parts:
            own |= behind[part.op.name]
        handle = variable.handle.op.name
        known[handle] = own & known.get(handle, own)
    # What no gradient moves, as moving averages, other updates may.
    return [op for op in reads if not known.get(op.inputs[0].op.name, 0) & bits[op.name]]


def _waits_for_gradients(optimizer: tf.train.Optimizer) -> bool:
    kind: Any = type(optimizer)
    own = kind.__module__.startswith("tensorflow.")
    return own and kind.apply_gradients is tf.train.Optimizer.apply_gradients


def _bits_behind(bits: Mapping[str, int]) -> dict[str, int]:
    """For every operation of the graph the bits of itself and of what it is computed from.

    Operations stand in the order in which they were made, behind what they are computed from; the
    ways back in a loop are left out.
    """
    found: dict[str, int] = {}
    for op in tf.get_default_graph().get_operations():
        if op.type in _SHAPES:
            continue
        own = bits.get(op.name, 0)
        for tensor in op.inputs:
            own |= found.get(tensor.op.name, 0)
        for before in op.control_inputs:
            own |= found.get(before.name, 0)
        found[op.name] = own
    return found
