"""Walks back through a graph, from results to the operations that compute them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import tensorflow.compat.v1 as tf

PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


def behind(
    results: Iterable[tf.Tensor | tf.Operation],
    fed: Collection[tf.Tensor] = (),
    passes: Callable[[tf.Operation], bool] = lambda op: True,
) -> Iterator[tf.Operation]:
    """Every operation that a session runs to compute `results`, each once.

    Args:
        results: tensors or operations of one graph.
        fed: tensors that the session is fed, so that the operations behind them do not run.
        passes: whether to walk on behind an operation; the operation itself is yielded either way.
    """
    fed_names = {tensor.name for tensor in fed}
    fed_placeholders = {tensor.op.name for tensor in fed if tensor.op.type in PLACEHOLDERS}
    seen: set[str] = set()
    waiting = [getattr(result, "op", result) for result in results if result.name not in fed_names]
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        yield op
        if passes(op):
            waiting.extend(tensor.op for tensor in op.inputs if tensor.name not in fed_names)
            # A control input from a fed placeholder does not run the placeholder.
            waiting.extend(o for o in op.control_inputs if o.name not in fed_placeholders)
