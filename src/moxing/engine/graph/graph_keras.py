"""Gives graphs the Keras that they need, tf_keras, and leaves a program the Keras that it has.

Keras 3 can't build TensorFlow 1.x graphs: with it, `tf.compat.v1.layers` does not exist, and layers
of `tf.keras` fail inside a graph. The environment variable TF_USE_LEGACY_KERAS decides which Keras
TensorFlow provides; TensorFlow reads it when Keras is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.tools import module_util
from tensorflow.python.util.lazy_loader import KerasLazyLoader, LazyLoader

_V1 = "tf_keras.api._v1.keras"
_V2 = "tf_keras.api._v2.keras"
_LEGACY = f"{_V1}.__internal__.legacy"


def show_in_v1() -> None:
    """Makes `tf.compat.v1.keras`, `.layers` and `.nn.rnn_cell` stand for tf_keras permanently.

    Nothing of tf_keras is imported yet.
    """
    # For import statements, which would make a second module of `nn`: these folders must come
    # before TensorFlow's own, whose `layers` is empty, and whose `rnn_cell` has other classes.
    sys.modules.setdefault(f"{tf.__name__}.nn", tf.nn)
    for owner, package in (
        (tf, _V1),
        (tf, f"{_LEGACY}.layers"),
        (tf.nn, f"{_LEGACY}.rnn_cell"),
    ):
        folder = module_util.get_parent_dir_for_name(package)
        if folder is not None and folder not in owner.__path__:
            owner.__path__.insert(0, folder)
    _show(tf, "keras", _V1)
    _show(tf, "layers", f"{_LEGACY}.layers")
    _show(tf.nn, "rnn_cell", f"{_LEGACY}.rnn_cell")


@contextmanager
def shown() -> Iterator[None]:
    """Makes `tf.keras` tf_keras in the block, in which graphs are built, whatever it is outside."""
    before = vars(tf2)["keras"]
    _show(tf2, "keras", _V2)
    try:
        yield
    finally:
        tf2.__dict__["keras"] = before


def _show(owner: Any, name: str, package: str) -> None:
    """Makes a name of a module stand for a package, which is imported when it is first used."""
    # TensorFlow wraps some modules in an object that warns about deprecated names.
    module = getattr(owner, "_tfmw_wrapped_module", owner)
    held: Any = vars(module).get(name)
    # Ask only a real module: a lazy loader would import its Keras to give its __name__.
    if type(held) is ModuleType and held.__name__ == package:
        return
    loader: Any = KerasLazyLoader(vars(module), name=name)
    loader._tfll_initialized, loader._tfll_keras_version = True, "tf_keras"
    LazyLoader.__init__(loader, name, vars(module), package)
    setattr(owner, name, loader)
