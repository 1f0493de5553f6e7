"""The collection in which a graph kept its current variable scope, until TensorFlow 1.3.

Libraries of that time enter a scope without `tf.variable_scope`: they write the scope to the first
place of the collection, and the scope before it afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

# Not the key of TensorFlow 1.3: TensorFlow 2 has another object under that one.
KEY = ("__open_varscope",)


class _CurrentScope(Sequence):
    """The only value of the collection: the variable scope that is open in the asking thread."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        return [self._store.current_scope][index]

    def __setitem__(self, index: int, scope: Any) -> None:
        values = [self._store.current_scope]
        values[index] = scope
        self._store.current_scope = values[0]


def install() -> None:
    """From now on every graph has the collection."""
    import tensorflow.compat.v1 as tf

    for name in ("get_collection", "get_collection_ref"):
        original = getattr(tf.Graph, name)
        if not hasattr(original, "knows_scope"):
            setattr(tf.Graph, name, _knowing_scope(original))


def uninstall() -> None:
    """Undoes `install`."""
    import tensorflow.compat.v1 as tf

    for name in ("get_collection", "get_collection_ref"):
        method = getattr(tf.Graph, name)
        if hasattr(method, "knows_scope"):
            setattr(tf.Graph, name, method.__wrapped__)


def _knowing_scope(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, name: Any, *given: Any, **named: Any) -> Any:
        if isinstance(name, tuple) and name == KEY:
            held = _of(self)
            return list(held) if original.__name__ == "get_collection" else held
        return original(self, name, *given, **named)

    method.knows_scope = True  # type: ignore[attr-defined]
    return method


def _of(graph: Any) -> _CurrentScope:
    from tensorflow.python.ops import variable_scope

    with graph.as_default():
        return _CurrentScope(variable_scope.get_variable_scope_store())
