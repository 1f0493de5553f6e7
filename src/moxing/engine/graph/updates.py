"""Collects the updates of batch-norm statistics, whichever layer library made them.

`tf.layers` and tf-slim put these updates into the UPDATE_OPS collection. Keras layers in a v1 graph
don't, and a program that trains without `Model.fit` would lose them; here they are added to the
collection.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import weakref
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, keras_mode

# Updates that were made where a functional model was defined.
_DEFINED = "moxing_keras_definition_updates"
# For each graph, which of its operations depend on a Keras input.
_known: weakref.WeakKeyDictionary[tf.Graph, dict[str, bool]] = weakref.WeakKeyDictionary()
_KERAS_LAYER = "tf_keras.src.engine.base_layer_v1"


def collect(results: Sequence[tf.Tensor] = ()) -> list[tf.Operation]:
    """The update operations of the current graph, each once.

    A functional Keras model makes updates twice: where it is defined, on inputs of its own, and
    where it is called on the inputs of the step. The updates made at its definition belong to no
    step and are left out.

    Args:
        results: the step's tensors. If they depend on a Keras input, the updates on that input
            belong to the step.
    """
    operations = {}
    for update in [*tf.get_collection(tf.GraphKeys.UPDATE_OPS), *tf.get_collection(_DEFINED)]:
        op = update if isinstance(update, tf.Operation) else update.op
        operations[op.name] = op
    defined = _defined(tf.get_default_graph(), results) if operations else set()
    return [op for name, op in operations.items() if name not in defined]


def _defined(graph: tf.Graph, results: Sequence[tf.Tensor]) -> set[str]:
    """Names of the operations that depend on a Keras input which the step does not need."""
    inputs = [op for op in graph.get_operations() if _is_keras_input(op)]
    if not inputs:
        return set()
    needed = {op.name for op in ancestry.behind(results)} if results else set()
    found: set[str] = set()
    waiting = [op for op in inputs if op.name not in needed]
    while waiting:
        op = waiting.pop()
        if op.name not in found:
            found.add(op.name)
            waiting += [user for tensor in op.outputs for user in tensor.consumers()]
    return found


def _is_defined(update: tf.Operation) -> bool:
    """Whether an operation depends on a Keras input; visits each operation of a graph only once."""
    known = _known.setdefault(update.graph, {})
    waiting = [update]
    while waiting:
        op = waiting[-1]
        behind = [tensor.op for tensor in op.inputs]
        unknown = [one for one in behind if one.name not in known]
        if op.name not in known and unknown:
            # False for now: a loop's back edge leads here again before the answer is known.
            known[op.name] = False
            waiting += unknown
            continue
        waiting.pop()
        known[op.name] = _is_keras_input(op) or any(known[one.name] for one in behind)
    return known[update.name]


def _is_keras_input(op: tf.Operation) -> bool:
    if op.type not in ancestry.PLACEHOLDERS:
        return False
    history = getattr(op.outputs[0], "_keras_history", None)
    return history is not None and bool(getattr(history.layer, "is_placeholder", False))


def watch_keras() -> None:
    """Makes Keras layers in a v1 graph add updates to UPDATE_OPS and follow the run's mode.

    Importing tf_keras takes a third of a second, so it is not imported for this: if it is not
    imported yet, its layer module is changed when it is.
    """
    module = sys.modules.get(_KERAS_LAYER)
    if module is not None:
        _change(module)
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def _change(module: ModuleType) -> None:
    keras_mode.change(module.backend)
    layer = module.Layer
    original = layer.add_update
    if getattr(original, "joins_update_ops", False):
        return

    def add_update(self: Any, updates: Any) -> None:
        before = len(self._updates)
        original(self, updates)
        # Updates that do not depend on the inputs belong to no step.
        for update in self._updates[before:]:
            if isinstance(update, tf.Operation) and update.graph is tf.get_default_graph():
                # Programs run the operations in UPDATE_OPS themselves.
                defined = _is_defined(update)
                tf.add_to_collection(_DEFINED if defined else tf.GraphKeys.UPDATE_OPS, update)

    add_update.joins_update_ops = True
    layer.add_update = add_update


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds the Keras layer module once, to change it right after it is executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _KERAS_LAYER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _change(module)

            spec.loader.exec_module = exec_module
        return spec
