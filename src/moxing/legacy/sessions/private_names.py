"""Private attributes of operations, tensors and graphs that programs of TensorFlow 1.x read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_OF_OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "_control_inputs": lambda op: list(op.control_inputs),
    "_graph": lambda op: op.graph,
    "_inputs": lambda op: list(op.inputs),
    "_outputs": lambda op: list(op.outputs),
    "_traceback": lambda op: op.traceback,
}
_OF_TENSORS: dict[str, Callable[[Any], Any]] = {"_value_index": lambda tensor: tensor.value_index}
_OF_GRAPHS: dict[str, Callable[[Any], Any]] = {"_version": lambda graph: graph.version}


class _Fact:
    """An attribute that is read from another one, until it is set on an object."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def __get__(self, value: Any, kind: type | None = None) -> Any:
        return self if value is None else self._read(value)


def install() -> None:
    """Gives the classes of TensorFlow the attributes that they lack, from now on."""
    for kind, facts in _tables():
        for name, read in facts.items():
            if not hasattr(kind, name):
                setattr(kind, name, _Fact(read))


def uninstall() -> None:
    """Undoes `install`."""
    for kind, facts in _tables():
        for name in facts:
            if isinstance(vars(kind).get(name), _Fact):
                delattr(kind, name)


def _tables() -> list[tuple[Any, dict[str, Callable[[Any], Any]]]]:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.ops import variable_scope
    from tensorflow.python.util import object_identity

    # The loss of a `regularizer=` is no tensor, but programs average it beside their other losses.
    of_losses = {"ref": lambda loss: functools.partial(object_identity.Reference, loss)}
    return [
        (tf.Operation, _OF_OPERATIONS),
        (tf.Tensor, _OF_TENSORS),
        (tf.Graph, _OF_GRAPHS),
        (variable_scope._LazyEvalTensor, of_losses),
    ]
