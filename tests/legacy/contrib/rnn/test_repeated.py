"""One cell object that stands for several layers."""

from __future__ import annotations

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
