"""Decoders of TensorFlow 1.0, made of decoder functions, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib import seq2seq

BATCH, TIME, UNITS, WORDS = 3, 4, 5, 6
LENGTHS = np.array([4, 2, 3], np.int32)
DRAW = np.random.RandomState(3)
INPUTS = DRAW.randn(BATCH, TIME, UNITS).astype(np.float32)
MEMORY = DRAW.randn(BATCH, 7, UNITS).astype(np.float32)
STATE = DRAW.randn(BATCH, UNITS).astype(np.float32)
EMBEDDING = DRAW.randn(WORDS, UNITS).astype(np.float32)
PROJECTION = DRAW.randn(UNITS, WORDS).astype(np.float32)


def cell() -> Any:
    return tf.nn.rnn_cell.BasicRNNCell(UNITS)


def weights(session: Any) -> dict[str, np.ndarray]:
    """New values of all variables, by name."""
    draw, values = np.random.RandomState(2), {}
    for variable in tf.global_variables():
        values[variable.op.name] = draw.randn(*variable.shape.as_list()).astype(np.float32)
        variable.load(values[variable.op.name], session)
    return values


def step(x: Any, h: Any, w: dict[str, np.ndarray]) -> Any:
    at = "rnn/basic_rnn_cell"
    return np.tanh(np.concatenate([x, h], 1) @ w[f"{at}/kernel"] + w[f"{at}/bias"])


def masked(outputs: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return outputs * (np.arange(outputs.shape[1]) < lengths[:, None])[:, :, None]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("time_major", [False, True])
def test_training_follows_the_inputs_until_the_lengths(time_major: bool, known: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = tf.placeholder(tf.float32, [BATCH if known else None, None, UNITS])
        given = tf.transpose(inputs, [1, 0, 2]) if time_major else inputs
        outputs, state, context = seq2seq.dynamic_rnn_decoder(
            cell(),
            seq2seq.simple_decoder_fn_train(tf.constant(STATE)),
            given,
            LENGTHS,
            time_major=time_major,
        )
        w = weights(session)
        outputs, state = session.run([outputs, state], {inputs: INPUTS})

    assert context is None
    h, final, wanted = STATE, STATE.copy(), []
    for time in range(TIME):
        h = step(INPUTS[:, time], h, w)
        wanted.append(h)
        final = np.where((time < LENGTHS)[:, None], h, final)
    got = outputs.transpose(1, 0, 2) if time_major else outputs
    np.testing.assert_allclose(got, masked(np.stack(wanted, 1), LENGTHS), atol=1e-5)
    np.testing.assert_allclose(state, final, atol=1e-5)


def test_inputs_without_lengths_are_read_to_their_end_and_have_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = seq2seq.simple_decoder_fn_train(tf.constant(STATE))
        outputs, _, _ = seq2seq.dynamic_rnn_decoder(cell(), decoder, tf.constant(INPUTS))
        gradients = tf.gradients(outputs, tf.trainable_variables())
        weights(session)
        outputs, gradients = session.run([outputs, gradients])
    assert outputs.shape == (BATCH, TIME, UNITS)
    assert all(np.abs(gradient).sum() > 0 for gradient in gradients)


def greedy(
    h: np.ndarray, w: dict[str, np.ndarray], end: int, maximum: int, attend: Any = None
) -> np.ndarray:
    """The logits [batch, time, words] of a greedy decoder; zeros after the end."""
    ids, done, logits = np.full(BATCH, 1), np.zeros(BATCH, bool), []
    attention = np.zeros((BATCH, UNITS), np.float32)
    for time in range(1, maximum + 2):
        x = EMBEDDING[ids]
        h = step(np.concatenate([x, attention], 1) if attend else x, h, w)
        attention = attend(h) if attend else h
        scores = attention @ PROJECTION
        logits.append(np.where(done[:, None], 0, scores))
        ids = scores.argmax(1)
        done = done | (ids == end) | (time > maximum)
        if done.all():
            break
    return np.stack(logits, 1)


@pytest.mark.parametrize("end", [0, 2, 99])
def test_inference_feeds_the_likeliest_symbol_until_the_end(end: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = seq2seq.simple_decoder_fn_inference(
            lambda output: tf.matmul(output, PROJECTION),
            tf.constant(STATE),
            tf.constant(EMBEDDING),
            start_of_sequence_id=1,
            end_of_sequence_id=end,
            maximum_length=5,
            num_decoder_symbols=WORDS,
        )
        outputs, _, _ = seq2seq.dynamic_rnn_decoder(cell(), decoder)
        w = weights(session)
        outputs = session.run(outputs)
    np.testing.assert_allclose(outputs, greedy(STATE, w, end, 5), atol=1e-4)


def attention(w: dict[str, np.ndarray], option: str) -> Any:
    """The attention over MEMORY that a query [batch, units] makes."""
    keys = MEMORY @ w["attention_keys/weights"]

    def attend(query: np.ndarray) -> np.ndarray:
        if option == "bahdanau":
            projected = (query @ w["attention_score/attnW"])[:, None]
            scores = (w["attention_score/attnV"] * np.tanh(keys + projected)).sum(2)
        else:
            scores = (keys * query[:, None]).sum(2)
        parts = np.exp(scores - scores.max(1, keepdims=True))
        parts /= parts.sum(1, keepdims=True)
        context = (parts[:, :, None] * MEMORY).sum(1)
        return np.concatenate([query, context], 1) @ w["rnn/attention_construct/weights"]

    return attend


@pytest.mark.parametrize("option", ["bahdanau", "luong"])
def test_attention_decoders_train_and_infer_with_one_set_of_weights(option: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        parts = seq2seq.prepare_attention(tf.constant(MEMORY), option, UNITS)
        train = seq2seq.attention_decoder_fn_train(tf.constant(STATE), *parts)
        trained, _, _ = seq2seq.dynamic_rnn_decoder(cell(), train, tf.constant(INPUTS), LENGTHS)
        count = len(tf.global_variables())
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            infer = seq2seq.attention_decoder_fn_inference(
                lambda output: tf.matmul(output, PROJECTION),
                tf.constant(STATE),
                *parts,
                tf.constant(EMBEDDING),
                1,
                99,
                3,
                WORDS,
            )
            inferred, _, _ = seq2seq.dynamic_rnn_decoder(cell(), infer)
        assert len(tf.global_variables()) == count
        w = weights(session)
        trained, inferred = session.run([trained, inferred])

    attend, h, wanted = attention(w, option), STATE, []
    before = np.zeros((BATCH, UNITS), np.float32)
    for time in range(TIME):
        h = step(np.concatenate([INPUTS[:, time], before], 1), h, w)
        before = attend(h)
        wanted.append(before)
    np.testing.assert_allclose(trained, masked(np.stack(wanted, 1), LENGTHS), atol=1e-4)
    np.testing.assert_allclose(inferred, greedy(STATE, w, 99, 3, attend), atol=1e-4)


def test_the_state_of_an_lstm_gives_attention_of_its_output() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        lstm = tf.nn.rnn_cell.LSTMCell(UNITS)
        parts = seq2seq.prepare_attention(tf.constant(MEMORY), "luong", UNITS)
        state = lstm.zero_state(BATCH, tf.float32)
        outputs, final, _ = seq2seq.dynamic_rnn_decoder(
            lstm, seq2seq.attention_decoder_fn_train(state, *parts), tf.constant(INPUTS), LENGTHS
        )
        weights(session)
        assert session.run(outputs).shape == (BATCH, TIME, UNITS)
        assert isinstance(final, tf.nn.rnn_cell.LSTMStateTuple)


def test_a_context_is_carried_from_step_to_step() -> None:
    def count(time: Any, state: Any, given: Any, output: Any, context: Any) -> Any:
        first = state is None
        context = tf.constant(0) if first else context + time
        return None, tf.constant(STATE) if first else state, given, output, context

    with tf.Graph().as_default(), tf.Session() as session:
        _, _, context = seq2seq.dynamic_rnn_decoder(cell(), count, tf.constant(INPUTS))
        weights(session)
        assert session.run(context) == 1 + 2 + 3 + 4


def test_wrong_uses_are_named() -> None:
    with tf.Graph().as_default():
        simple = seq2seq.simple_decoder_fn_train(tf.constant(STATE))
        with pytest.raises(MoxValueError, match="at least two dimensions"):
            seq2seq.dynamic_rnn_decoder(cell(), simple, tf.zeros([3]))
        with pytest.raises(MoxValueError, match="give sequence_length"):
            seq2seq.dynamic_rnn_decoder(
                cell(), lambda *parts: (None, tf.constant(STATE), tf.constant(STATE), None, None)
            )
        with pytest.raises(MoxValueError, match="'luong'"):
            seq2seq.prepare_attention(tf.constant(MEMORY), "dot", UNITS)
        infer = seq2seq.simple_decoder_fn_inference(
            None, tf.constant(STATE), tf.constant(EMBEDDING), 1, 2, 3, WORDS
        )
        with pytest.raises(MoxValueError, match="no inputs"):
            seq2seq.dynamic_rnn_decoder(cell(), infer, tf.constant(INPUTS))
