"""Names of the variables of recurrent layers, as TensorFlow 1.15.5 printed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from tf_keras.api._v1.keras import layers

from moxing.legacy.keras import recurrent_names


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    enabled = tf.resource_variables_enabled()
    tf.disable_resource_variables()
    recurrent_names.install()
    recurrent_names.install()
    yield
    recurrent_names.uninstall()
    if enabled:
        tf.enable_resource_variables()


def _names(make: Any) -> list[str]:
    with tf.Graph().as_default():
        layer = make()
        layer(tf.ones([2, 3, 4]))
        return [weight.name for weight in layer.weights]


_PARTS = ("kernel:0", "recurrent_kernel:0", "bias:0")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_a_layer_alone_names_its_variables(kind: str) -> None:
    made = _names(lambda: getattr(layers, kind)(3, name="mine"))
    assert made == [f"mine/{part}" for part in _PARTS]


def test_both_directions_are_named() -> None:
    made = _names(lambda: layers.Bidirectional(layers.LSTM(3, name="l"), name="both"))
    ways = ("forward_l", "backward_l")
    assert made == [f"both/{way}/{part}" for way in ways for part in _PARTS]


def test_cells_above_each_other_are_numbered() -> None:
    cells = [layers.GRUCell(3), layers.SimpleRNNCell(2)]
    made = _names(lambda: layers.RNN(cells, name="deep"))
    second = ("kernel_1:0", "recurrent_kernel_1:0", "bias_1:0")
    assert made == [f"deep/{part}" for part in (*_PARTS, *second)]


def test_graphs_of_runs_keep_the_names_of_their_checkpoints() -> None:
    tf.enable_resource_variables()
    made = _names(lambda: layers.LSTM(3, name="mine"))
    assert made[0].startswith("mine/lstm_cell")
    assert made[0].endswith("/kernel:0")
