"""Lets Keras models use variables that no layer holds, as the package `keras` did in graphs."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf


def install() -> None:
    """From now on a Lambda layer's function may make variables in a graph; once a process.

    Keras' session initializes them. As in Keras 2, they are no weights of the layer: training does
    not change them, and files of weights do not hold them.
    """
    from tf_keras.layers import Lambda
    from tf_keras.src import backend

    original: Any = Lambda._check_variables

    @functools.wraps(original)
    def check(self: Any, created: Any, used: Any) -> None:
        if tf.executing_eagerly_outside_functions():
            original(self, created, used)
            return
        for variable in created:
            backend.track_variable(variable)

    Lambda._check_variables = check


def serve_bare() -> None:
    """From now on Keras' session initializes every variable of its graph, as Keras 2's did."""
    from tf_keras.src import backend

    original: Any = backend._get_variables
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def variables(graph: Any = None) -> list[Any]:
        found = [*original(graph)]
        if graph is not None:
            found += graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
        return list({id(variable): variable for variable in found}.values())

    backend._get_variables = variables
