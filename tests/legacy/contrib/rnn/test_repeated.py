"""One cell object that stands for several layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import rnn

UNITS, BATCH, TIME = 3, 2, 4


def outputs(width: int, wrapped: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Runs three layers of one cell; returns the names and shapes of the kernels."""
    with tf.Graph().as_default():
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        if wrapped:
            cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=1.0)
        layers = rnn.MultiRNNCell([cell] * 3)
        assert isinstance(layers, tf.nn.rnn_cell.MultiRNNCell)
        inputs = tf.constant(np.ones((BATCH, TIME, width), np.float32))
        result, state = tf.nn.dynamic_rnn(layers, inputs, dtype=tf.float32)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(result).shape == (BATCH, TIME, UNITS)
        assert len(state) == 3
        kernels = [v for v in tf.trainable_variables() if v.op.name.endswith("kernel")]
        assert all(gradient is not None for gradient in tf.gradients(result, kernels))
        return [(v.op.name, tuple(v.shape.as_list())) for v in kernels]


@pytest.mark.parametrize("wrapped", [False, True])
def test_layers_of_other_widths_have_their_own_variables(wrapped: bool) -> None:
    assert outputs(5, wrapped) == [
        ("rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel", (5 + UNITS, 4 * UNITS)),
        ("rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel", (2 * UNITS, 4 * UNITS)),
        ("rnn/multi_rnn_cell/cell_2/basic_lstm_cell/kernel", (2 * UNITS, 4 * UNITS)),
    ]


def test_layers_of_one_width_share_the_variables_as_in_tensorflow_1_15() -> None:
    assert outputs(UNITS, wrapped=False) == [
        ("rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel", (2 * UNITS, 4 * UNITS))
    ]


class _WithoutInit(tf.nn.rnn_cell.RNNCell):
    """A cell in the manner of 2016: nothing of its base class has run."""

    def __init__(self, units: int) -> None:
        self.units = units

    @property
    def state_size(self) -> int:
        return self.units

    @property
    def output_size(self) -> int:
        return self.units

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with tf.variable_scope(scope or "own"):
            kernel = tf.get_variable("kernel", [inputs.shape[1], self.units])
        result = tf.tanh(tf.matmul(inputs, kernel) + state)
        return result, result


def test_a_cell_whose_base_class_was_not_initialized_stands_for_several_layers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        layers = rnn.MultiRNNCell([_WithoutInit(UNITS)] * 2)
        inputs = tf.constant(np.ones((BATCH, TIME, 5), np.float32))
        both, _ = tf.nn.bidirectional_dynamic_rnn(layers, layers, inputs, dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        assert [found.shape for found in session.run(both)] == [(BATCH, TIME, UNITS)] * 2
        shapes = {v.op.name: tuple(v.shape.as_list()) for v in tf.trainable_variables()}
    name = "bidirectional_rnn/{}/multi_rnn_cell/cell_{}/own/kernel"
    assert shapes == {
        name.format(way, cell): (width, UNITS)
        for way in ("fw",)  # The second direction calls the same layers.
        for cell, width in ((0, 5), (1, UNITS))
    }
