"""Computes the regularization losses of layers from the variables, not from their 16-bit copies.

The layers of `tf.layers` and slim regularize the result of `tf.get_variable`. With 16-bit
computation this result is a 16-bit tensor, in which the sum of squares of a large layer overflows.
Each reuse of a variable makes another such tensor, so that the loss would be added again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

# slim has the layers of TensorFlow itself, and tf.layers those of tf_keras.
_LAYERS = ("tensorflow.python.keras.legacy_tf_layers.base", "tf_keras.src.legacy_tf_layers.base")
_STORED, _ADDED = "_openmox_stored", "_openmox_regularized"


def read(variable: Any, dtype: tf.DType) -> tf.Tensor:
    """The value of a variable as `dtype`, from which layers can find the variable."""
    for name in _LAYERS:
        if (module := sys.modules.get(name)) is not None:
            _teach(module.Layer)
    value = tf.cast(variable, dtype)
    setattr(value, _STORED, variable)
    return value


def _teach(layers: Any) -> None:
    """Lets a class of layers add the losses of stored variables, and each of them once."""
    inherited = "_handle_weight_regularization"
    if inherited in vars(layers):
        return

    def handle(self: Any, name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
        stored = getattr(variable, _STORED, None)
        if stored is not None:
            if getattr(stored, _ADDED, False):
                return
            setattr(stored, _ADDED, True)
            variable = stored
        getattr(super(layers, self), inherited)(name, variable, regularizer)

    setattr(layers, inherited, handle)
