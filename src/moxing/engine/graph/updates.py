"""Collects the updates of batch-norm statistics, whichever layer library made them.

`tf.layers` and tf-slim put them into the UPDATE_OPS collection. Keras layers in a v1 graph keep
them to themselves, and who trains without `Model.fit` loses them; here they join the collection.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import tensorflow.compat.v1 as tf

_KERAS_LAYER = "tf_keras.src.engine.base_layer_v1"


def collect() -> list[tf.Operation]:
    """The update operations of the current graph, each once."""
    operations = {}
    for update in tf.get_collection(tf.GraphKeys.UPDATE_OPS):
        op = update if isinstance(update, tf.Operation) else update.op
        operations[op.name] = op
    return list(operations.values())


def watch_keras() -> None:
    """From now on, updates of Keras layers in a v1 graph join UPDATE_OPS.

    tf_keras takes a third of a second to import, so it is not imported for this: if it is not there
    yet, its layer module is changed when somebody imports it.
    """
    module = sys.modules.get(_KERAS_LAYER)
    if module is not None:
        _change(module)
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def _change(module: ModuleType) -> None:
    layer = module.Layer
    original = layer.add_update
    if getattr(original, "joins_update_ops", False):
        return

    def add_update(self: Any, updates: Any) -> None:
        before = len(self._updates)
        original(self, updates)
        # Updates that do not depend on the inputs, and those made while a functional model is
        # defined, belong to no step.
        for update in self._updates[before:]:
            if isinstance(update, tf.Operation) and update.graph is tf.get_default_graph():
                tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)

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
