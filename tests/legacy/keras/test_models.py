"""Models of tf_keras have the attributes that models of Keras 2 had."""

from __future__ import annotations

import tensorflow.compat.v1 as tf
import tf_keras

from moxing.legacy.keras import models


def test_a_model_knows_the_graph_that_it_was_built_in() -> None:
    models.install()
    models.install()
    with tf.Graph().as_default() as graph:
        layer = tf_keras.layers.Dense(2, input_shape=(3,))
        model = tf_keras.Sequential([layer])
        inside = model._graph
        made = graph.get_operations()

    assert inside is graph
    assert made  # The variables of the layer are in this graph.
    assert tf_keras.Sequential._graph is not None


def test_a_models_own_attribute_of_that_name_is_kept() -> None:
    models.install()

    class Linked(tf_keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self._graph = "edges"

    assert Linked()._graph == "edges"
