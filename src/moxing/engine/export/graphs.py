"""Walks back from the outputs of a graph to what they are computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import tensorflow.compat.v1 as tf

PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


def ancestors(tensors: Collection[tf.Tensor], fed: Collection[tf.Tensor]) -> Iterator[tf.Operation]:
    """Every operation that a session runs to compute `tensors` when it is fed `fed`."""
    fed_names = {tensor.name for tensor in fed}
    fed_placeholders = {tensor.op.name for tensor in fed if tensor.op.type in PLACEHOLDERS}
    seen: set[str] = set()
    waiting = [tensor.op for tensor in tensors if tensor.name not in fed_names]
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        yield op
        waiting.extend(tensor.op for tensor in op.inputs if tensor.name not in fed_names)
        # What only waits for a fed placeholder does not run it.
        waiting.extend(o for o in op.control_inputs if o.name not in fed_placeholders)
