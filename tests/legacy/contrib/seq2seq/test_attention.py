"""Attention against its formulas, and the names of its variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import seq2seq

BATCH, MEMORIES, DEPTH, UNITS = 2, 4, 3, 5
LENGTHS = [4, 2]
DRAW = np.random.RandomState(8)
MEMORY = DRAW.randn(BATCH, MEMORIES, DEPTH).astype(np.float32)
QUERY = DRAW.randn(BATCH, UNITS).astype(np.float32)


def softmax(scores: np.ndarray) -> np.ndarray:
    scores = np.where(np.arange(MEMORIES)[None] < np.array(LENGTHS)[:, None], scores, -np.inf)
    return np.exp(scores) / np.exp(scores).sum(1, keepdims=True)


def run(kind: str, **options: Any) -> tuple[Any, dict[str, np.ndarray]]:
    with tf.Graph().as_default(), tf.Session() as session:
        mechanism = getattr(seq2seq, kind)(UNITS, tf.constant(MEMORY), LENGTHS, **options)
        start = mechanism.initial_state(BATCH, tf.float32)
        alignments, _ = mechanism(tf.constant(QUERY), start)
        session.run(tf.global_variables_initializer())
        draw = np.random.RandomState(1)
        values = {}
        for variable in tf.global_variables():
            value = draw.randn(*variable.shape.as_list())
            values[variable.op.name] = np.float32(value)
            variable.load(values[variable.op.name], session)
        return session.run(alignments), values


@pytest.mark.parametrize("normalize", [False, True])
def test_additive_attention(normalize: bool) -> None:
    found, w = run("BahdanauAttention", normalize=normalize)

    at = "bahdanau_attention"
    sums = MEMORY @ w["memory_layer/kernel"] + (QUERY @ w[f"{at}/query_layer/kernel"])[:, None]
    v = w[f"{at}/attention_v"]
    if normalize:
        v = w[f"{at}/attention_g"] * v / np.sqrt((v**2).sum())
        sums = sums + w[f"{at}/attention_b"]
    np.testing.assert_allclose(found, softmax((v * np.tanh(sums)).sum(-1)), rtol=1e-4, atol=1e-6)
    assert len(w) == (5 if normalize else 3)


@pytest.mark.parametrize("scale", [False, True])
def test_multiplicative_attention(scale: bool) -> None:
    found, w = run("LuongAttention", scale=scale)

    scores = ((MEMORY @ w["memory_layer/kernel"]) * QUERY[:, None]).sum(-1)
    scores = scores * w["luong_attention/attention_g"] if scale else scores
    np.testing.assert_allclose(found, softmax(scores), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["BahdanauMonotonicAttention", "LuongMonotonicAttention"])
def test_monotonic_attention_starts_at_the_first_memory(kind: str) -> None:
    found, w = run(kind, mode="hard", score_bias_init=0.5)

    assert any(name.endswith("attention_score_bias") for name in w)
    assert set(np.unique(found)) <= {0.0, 1.0}
    assert (found.sum(1) <= 1).all()
    assert (found[1, 2:] == 0).all()


def test_the_three_ways_to_compute_monotonic_attention_agree() -> None:
    p = np.random.RandomState(3).uniform(0.05, 0.95, [2, 5]).astype(np.float32)
    before = np.array([[1, 0, 0, 0, 0], [0.2, 0.3, 0.5, 0, 0]], np.float32)
    wanted = np.zeros_like(p)
    for row in range(2):
        for j in range(5):
            wanted[row, j] = p[row, j] * sum(
                before[row, k] * np.prod(1 - p[row, k:j]) for k in range(j + 1)
            )
    with tf.Graph().as_default(), tf.Session() as session:
        ways = [seq2seq.monotonic_attention(p, before, way) for way in ("recursive", "parallel")]
        hard = seq2seq.monotonic_attention([[0.0, 1, 0, 1, 0]], [[0.0, 0, 1, 0, 0]], "hard")
        one, two, hard = session.run([*ways, hard])
        with pytest.raises(ValueError, match="not 'soft'"):
            seq2seq.monotonic_attention(p, before, "soft")

    np.testing.assert_allclose(one, wanted, rtol=1e-4)
    np.testing.assert_allclose(two, wanted, rtol=1e-3, atol=1e-5)
    assert hard.tolist() == [[0, 0, 0, 1, 0]]


def test_a_wrapped_cell_attends_at_each_step() -> None:
    inputs = DRAW.randn(BATCH, 3, DEPTH).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        mechanism = seq2seq.LuongAttention(UNITS, tf.constant(MEMORY))
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.BasicRNNCell(UNITS),
            mechanism,
            attention_layer_size=6,
            alignment_history=True,
        )
        helper = seq2seq.TrainingHelper(inputs, [3, 3])
        start = cell.zero_state(BATCH, tf.float32)
        decoder = seq2seq.BasicDecoder(cell, helper, start)
        outputs, state, _ = seq2seq.dynamic_decode(decoder)
        session.run(tf.global_variables_initializer())
        w = {v.op.name: v.eval() for v in tf.global_variables()}
        found, history = session.run([outputs.rnn_output, state.alignment_history.stack()])

    at = "decoder/attention_wrapper"
    assert set(w) == {
        "memory_layer/kernel",
        f"{at}/basic_rnn_cell/kernel",
        f"{at}/basic_rnn_cell/bias",
        f"{at}/attention_layer/kernel",
    }
    h, attention = np.zeros([BATCH, UNITS]), np.zeros([BATCH, 6])
    keys = MEMORY @ w["memory_layer/kernel"]
    for time in range(3):
        x = np.concatenate([inputs[:, time], attention, h], 1)
        h = np.tanh(x @ w[f"{at}/basic_rnn_cell/kernel"] + w[f"{at}/basic_rnn_cell/bias"])
        scores = (keys * h[:, None]).sum(-1)
        alignments = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        read = (alignments[..., None] * MEMORY).sum(1)
        attention = np.concatenate([h, read], 1) @ w[f"{at}/attention_layer/kernel"]
        np.testing.assert_allclose(found[:, time], attention, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(history[time], alignments, rtol=1e-4, atol=1e-5)


def test_several_mechanisms_and_a_cell_that_keeps_its_output() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        memory = tf.placeholder(tf.float32, [None, None, DEPTH])
        mechanisms = [seq2seq.BahdanauAttention(UNITS, memory, name="a") for _ in "ab"]
        encoded = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([BATCH, UNITS]), tf.ones([BATCH, UNITS]))
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.LSTMCell(UNITS),
            mechanisms,
            attention_layer_size=[2, 3],
            output_attention=False,
        )
        start = cell.zero_state(BATCH, tf.float32).clone(cell_state=encoded)
        output, state = cell(tf.constant(QUERY), start)
        names = {v.op.name for v in tf.trainable_variables()}
        session.run(tf.global_variables_initializer())
        output, state = session.run([output, state], {memory: MEMORY})

    assert output.shape == (BATCH, UNITS)
    assert state.attention.shape == (BATCH, 5)
    assert [alignments.shape for alignments in state.alignments] == [(BATCH, MEMORIES)] * 2
    assert {
        "attention_wrapper/attention_layer/kernel",
        "attention_wrapper/attention_layer_1/kernel",
        "attention_wrapper/bahdanau_attention_1/attention_v",
    } <= names


def test_what_does_not_fit_says_so() -> None:
    with tf.Graph().as_default():
        mechanism = seq2seq.LuongAttention(UNITS, tf.constant(MEMORY))
        cell = tf.nn.rnn_cell.BasicRNNCell(4)
        with pytest.raises(ValueError, match="Perhaps you need to set num_units"):
            mechanism(tf.zeros([BATCH, 4]), None)
        with pytest.raises(ValueError, match="exactly one entry per attention_mechanism"):
            seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=[1, 2])
        with pytest.raises(TypeError, match="must be an AttentionMechanism"):
            seq2seq.AttentionWrapper(cell, "attention")
        with pytest.raises(TypeError, match="zero_state"):
            seq2seq.AttentionWrapper(cell, mechanism)(tf.zeros([BATCH, 4]), tf.zeros([BATCH, 4]))
        with pytest.raises(ValueError, match="fully defined inner dims"):
            seq2seq.LuongAttention(UNITS, tf.placeholder(tf.float32, [None, None, None]))
