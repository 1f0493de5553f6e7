"""The layers of contrib.cudnn_rnn against NumPy, and their checkpoints against cells'."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn import cudnn as cudnn_rnn
from moxing.legacy.contrib.rnn import stack_bidirectional_dynamic_rnn

TIME, BATCH, ROWS, UNITS = 5, 3, 4, 2
LENGTHS = [5, 3, 1]


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(weights, x, states):
    kernel, bias = weights
    h, c = states
    i, j, f, o = np.split(np.concatenate([x, h]) @ kernel + bias, 4)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(j)
    return [_sigmoid(o) * np.tanh(c), c]


def _gru(weights, x, states):
    gates, gates_bias, on_input, on_state, input_bias, state_bias = weights
    (h,) = states
    r, u = np.split(_sigmoid(np.concatenate([x, h]) @ gates + gates_bias), 2)
    new = np.tanh(x @ on_input + input_bias + r * (h @ on_state + state_bias))
    return [(1 - u) * new + u * h]


def _tanh(weights, x, states):
    return [np.tanh(np.concatenate([x, states[0]]) @ weights[0] + weights[1])]


def _relu(weights, x, states):
    return [np.maximum(np.concatenate([x, states[0]]) @ weights[0] + weights[1], 0)]


def _reference(step, weights, x, starts, lengths, ways):
    """Runs layers of `ways` directions; `weights` and `starts` have one entry per place."""
    finals = []
    for layer in range(len(weights) // ways):
        found = np.zeros([*x.shape[:2], ways * UNITS])
        for way in range(ways):
            place = layer * ways + way
            final = [state[place].copy() for state in starts]
            for row, length in enumerate(lengths):
                states = [state[place][row] for state in starts]
                for t in range(length) if way == 0 else reversed(range(length)):
                    states = step(weights[place], x[t, row], states)
                    found[t, row, way * UNITS : (way + 1) * UNITS] = states[0]
                for kept, state in zip(final, states, strict=True):
                    kept[row] = state
            finals.append(final)
        x = found
    return x, [np.stack(parts) for parts in zip(*finals, strict=True)]


@pytest.mark.parametrize(
    ("cls", "step", "count", "kinds", "ways"),
    [
        (cudnn_rnn.CudnnLSTM, _lstm, 2, 2, 2),
        (cudnn_rnn.CudnnGRU, _gru, 6, 1, 2),
        (cudnn_rnn.CudnnRNNTanh, _tanh, 2, 1, 1),
        (cudnn_rnn.CudnnRNNRelu, _relu, 2, 1, 1),
    ],
)
def test_layers_compute_the_equations(cls, step, count, kinds, ways) -> None:
    random = np.random.default_rng(ways)
    layers = kinds
    x = random.normal(size=[TIME, BATCH, ROWS]).astype(np.float32)
    starts = [random.normal(size=[layers * ways, BATCH, UNITS]).astype(np.float32)] * kinds
    with tf.Graph().as_default(), tf.Session() as session:
        layer = cls(
            layers,
            UNITS,
            direction=cudnn_rnn.CUDNN_RNN_BIDIRECTION if ways == 2 else "unidirectional",
            dropout=0.5,
            bias_initializer=tf.random_uniform_initializer(-1, 1),
        )
        found = layer(x, tuple(starts), sequence_lengths=LENGTHS, training=False)
        slopes = tf.gradients(found[0], layer.trainable_variables)
        session.run(tf.global_variables_initializer())
        values, (outputs, states), grown = session.run([layer.trainable_variables, found, slopes])

    weights = [values[n : n + count] for n in range(0, len(values), count)]
    wanted, ends = _reference(step, weights, x, starts, LENGTHS, ways)
    np.testing.assert_allclose(outputs, wanted, atol=1e-5)
    for state, other in zip(states, ends, strict=True):
        np.testing.assert_allclose(state, other, atol=1e-5)
    assert len(grown) == layers * ways * count
    assert all(np.isfinite(slope).all() for slope in grown)
    assert any(slope.any() for slope in grown)
    assert layer.state_shape(BATCH) == ([layers * ways, BATCH, UNITS],) * kinds


def test_axes_of_time_and_of_batches_may_change_places() -> None:
    x = np.random.default_rng(3).normal(size=[TIME, BATCH, ROWS]).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        layer = cudnn_rnn.CudnnLSTM(1, UNITS, direction="bidirectional")
        pairs = [layer(x), layer(x.transpose(1, 0, 2), time_major=False)]
        session.run(tf.global_variables_initializer())
        (plain, plain_states), (turned, states) = session.run(pairs)
        weights = [values for values in zip(*[iter(session.run(layer.variables))] * 2, strict=True)]

    starts = [np.zeros([2, BATCH, UNITS], np.float32)] * 2
    wanted, ends = _reference(_lstm, weights, x, starts, [TIME] * BATCH, 2)
    np.testing.assert_allclose(plain, wanted, atol=1e-5)
    np.testing.assert_allclose(turned.transpose(1, 0, 2), wanted, atol=1e-5)
    for first, second, end in zip(plain_states, states, ends, strict=True):
        np.testing.assert_allclose(first, end, atol=1e-5)
        np.testing.assert_allclose(second.transpose(1, 0, 2), end, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "cell", "bidirectional"),
    [
        (cudnn_rnn.CudnnLSTM, cudnn_rnn.CudnnCompatibleLSTMCell, True),
        (cudnn_rnn.CudnnGRU, cudnn_rnn.CudnnCompatibleGRUCell, False),
    ],
)
def test_checkpoints_load_into_cells(layer, cell, bidirectional, tmp_path) -> None:
    x = np.random.default_rng(0).normal(size=[TIME, BATCH, ROWS]).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        way = "bidirectional" if bidirectional else "unidirectional"
        outputs, _ = layer(2, UNITS, direction=way, name="part")(x, training=False)
        session.run(tf.global_variables_initializer())
        wanted = session.run(outputs)
        path = tf.train.Saver().save(session, str(tmp_path / "saved"))

    with tf.Graph().as_default(), tf.Session() as session:
        lengths = [TIME] * BATCH
        with tf.variable_scope("part"):
            first, second = ([cell(UNITS) for _ in range(2)] for _ in range(2))
            if bidirectional:
                batches = tf.constant(x.transpose(1, 0, 2))
                outputs, _, _ = stack_bidirectional_dynamic_rnn(
                    first, second, batches, dtype=tf.float32, sequence_length=lengths
                )
                outputs = tf.transpose(outputs, [1, 0, 2])
            else:
                stack = tf.nn.rnn_cell.MultiRNNCell(first)
                outputs, _ = tf.nn.dynamic_rnn(
                    stack, tf.constant(x), dtype=tf.float32, time_major=True
                )
        tf.train.Saver().restore(session, path)
        np.testing.assert_allclose(session.run(outputs), wanted, atol=1e-5)


def test_dropout_lies_between_layers_in_training_only() -> None:
    x = np.ones([2, 1, 3], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        layer = cudnn_rnn.CudnnLSTM(2, 64, dropout=1.0 - 1e-6, seed=1)
        trained, still = layer(x, training=True)[1][0], layer(x, training=False)[1][0]
        session.run(tf.global_variables_initializer())
        trained, still = session.run([trained, still])
    np.testing.assert_allclose(trained[0], still[0], atol=1e-6)
    assert not trained[1].any()
    assert still[1].any()


def test_wrong_values_are_named() -> None:
    with pytest.raises(MoxValueError, match=r"input_size of TensorFlow 1\.3"):
        cudnn_rnn.CudnnLSTM(1, 2, 7)  # type: ignore[arg-type]
    with pytest.raises(MoxValueError, match="direction is 'both'"):
        cudnn_rnn.CudnnGRU(1, 2, direction="both")
    with tf.Graph().as_default():
        with pytest.raises(MoxValueError, match=r"shape \[time, batch, n\]"):
            cudnn_rnn.CudnnGRU(1, 2)(tf.zeros([3, 2]))
        with pytest.raises(MoxValueError, match="holds 1 tensors, but must hold 2"):
            cudnn_rnn.CudnnLSTM(1, 2)(tf.zeros([3, 2, 1]), (tf.zeros([1, 2, 2]),))
