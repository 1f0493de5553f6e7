"""Models of tf_keras have the attributes that models of Keras 2 had."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
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


def test_a_models_own_attribute_of_that_name_is_kept() -> None:
    models.install()

    class Linked(tf_keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self._graph = tf_keras.layers.Dense(2)

    linked = Linked()
    assert linked.layers == [linked._graph]


def test_attributes_that_never_were_have_the_errors_of_python_and_keras() -> None:
    models.install()
    layer = tf_keras.layers.Dense(2)

    with pytest.raises(AttributeError, match="'Dense' object has no attribute 'kernels'"):
        _ = layer.kernels
    with pytest.raises(AttributeError, match="no attribute '_graph'"):
        _ = layer._graph
    with pytest.raises(AttributeError, match="never been called"):
        _ = layer.output_shape


@pytest.mark.parametrize("graph", [False, True])
def test_the_layers_of_a_model_are_a_list_that_a_program_changes(graph: bool) -> None:
    models.install()
    with tf.Graph().as_default() if graph else contextlib.nullcontext():
        model = tf_keras.Sequential([tf_keras.layers.Dense(2, input_shape=(3,), name="first")])
        model.add(tf_keras.layers.Dense(1, name="second"))
        names = [layer.name for layer in model._layers]
        kept = model._layers.copy()
        model._layers.clear()
        emptied = model.layers
        model._layers.extend(kept)

    assert names[-2:] == ["first", "second"]  # An input layer stands before them.
    assert emptied == []
    assert [layer.name for layer in model.layers] == ["first", "second"]


def test_a_layers_own_list_is_kept() -> None:
    models.install()

    class Stack(tf_keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self._layers = [tf_keras.layers.Dense(2), tf_keras.layers.Dense(3)]

        def call(self, inputs: Any) -> Any:
            for layer in self._layers:
                inputs = layer(inputs)
            return inputs

    with tf.Graph().as_default():
        stack = Stack()
        output = stack(tf.zeros([1, 4]))

    assert output.shape.as_list() == [1, 3]
    assert len(stack._layers) == 2
    assert len(stack.trainable_weights) == 4


def test_a_model_takes_what_its_layers_take() -> None:
    models.install()
    models.install()
    with tf.Graph().as_default(), tf.Session() as session:
        layers = [tf_keras.layers.Reshape((4, 1), input_shape=(4,)), tf_keras.layers.Flatten()]
        model = tf_keras.Sequential(layers)
        model.compile("sgd", "mse")
        images = tf.ones([3, 2, 2])
        assert session.run(model(images)).shape == (3, 4)
        with pytest.raises(ValueError, match="15 elements"):
            model(tf.ones([3, 5]))
