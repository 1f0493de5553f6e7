"""Changes inputs of operations of some types as the operations are added to graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

# Takes the graph, the inputs and the attributes of a new operation; returns the inputs to use. The
# graph need not be the default one.
Change = Callable[[tf.Graph, Any, dict[str, Any]], Any]

_changes: dict[str, list[Change]] = {}


def change(types: tuple[str, ...], by: Change) -> None:
    """From now on, changes the inputs of new operations in all graphs of this process.

    Args:
        types: the types of the operations.
        by: the function that changes the inputs; the same function is added once.
    """
    _listen()
    for name in types:
        changes = _changes.setdefault(name, [])
        if by not in changes:
            changes.append(by)


@functools.cache
def _listen() -> None:
    """Makes graphs ask the table of changes, once in a process."""
    original: Any = tf.Graph._create_op_internal  # type: ignore[attr-defined]

    @functools.wraps(original)
    def create(self: tf.Graph, op_type: str, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        for by in _changes.get(op_type, ()):
            inputs = by(self, inputs, kwargs.get("attrs") or {})
        return original(self, op_type, inputs, *args, **kwargs)

    tf.Graph._create_op_internal = create  # type: ignore[attr-defined]
