"""Finds the reads of variables that an update must wait for by a control dependency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.engine.parallel.replicas import Replica

_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")
# Results that TensorFlow may compute without the values, and so without waiting for them.
_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")


def of(parts: Sequence[Replica]) -> list[tf.Operation]:
    """Returns the operations that read variables for a step's values, before the update."""
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
    """Returns the reads that could still happen after the update.

    An optimizer of TensorFlow updates a variable only once its gradient is computed, so the
    variables from which the gradient is computed are read by then. A control edge for each of
    these reads would cost a message between devices.

    Args:
        reads: operations of the current graph.
        optimizer: updates the variables; if it is not TensorFlow's own, all reads are returned.
        moved: the gradients, each with its variable.
    """
    if not _waits_for_gradients(optimizer):
        return list(reads)
    bits = {op.name: 1 << number for number, op in enumerate(reads)}
    behind = _bits_behind(bits)
    known: dict[str, int] = {}  # By a variable's handle: the reads that all its gradients need.
    for gradient, variable in moved:
        if not hasattr(variable, "handle"):  # None of these operations reads a reference variable.
            continue
        parts = tf.nest.flatten(gradient, expand_composites=True)
        own = 0
        for part in parts:
            own |= behind[part.op.name]
        handle = variable.handle.op.name
        known[handle] = own & known.get(handle, own)
    # A variable without a gradient, such as a moving average, may have another update.
    return [op for op in reads if not known.get(op.inputs[0].op.name, 0) & bits[op.name]]


def _waits_for_gradients(optimizer: tf.train.Optimizer) -> bool:
    kind: Any = type(optimizer)
    own = kind.__module__.startswith("tensorflow.")
    return own and kind.apply_gradients is tf.train.Optimizer.apply_gradients


def _bits_behind(bits: Mapping[str, int]) -> dict[str, int]:
    """For every operation of the graph: its own bits and the bits of all that it depends on.

    The graph lists operations in the order in which they were made, so each one comes after its
    inputs; the back edges of loops are ignored.
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
