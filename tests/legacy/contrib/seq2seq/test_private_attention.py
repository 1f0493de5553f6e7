"""Mechanisms and wrappers that programs derive from those of `tf.contrib.seq2seq`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib import seq2seq

MEMORY = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
LENGTHS = [4, 2]
COUNTED = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.float32)


def _softmax(scores: np.ndarray) -> np.ndarray:
    masked = np.where(COUNTED, scores, -np.inf)
    raised = np.exp(masked - masked.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def _run(tensors: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors)


def test_a_mechanism_s_own_scores_are_masked() -> None:
    class Own(seq2seq.BahdanauAttention):
        def __call__(self, query: Any, state: Any) -> Any:
            scores = tf.reduce_sum(self.keys, 2) + state
            alignments = self._probability_fn(scores, state)
            return alignments, alignments + state

    with tf.Graph().as_default():
        own = Own(5, tf.constant(MEMORY), memory_sequence_length=LENGTHS)
        state = tf.constant(np.arange(8, dtype=np.float32).reshape(2, 4))
        alignments, after = own(tf.constant(QUERY), state)
        found, next_state, keys = _run([alignments, after, own.keys])

    expected = _softmax(keys.sum(2) + np.arange(8).reshape(2, 4))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(next_state, expected + np.arange(8).reshape(2, 4), rtol=1e-5)
    assert own.dtype == tf.float32


def test_a_mechanism_of_the_base_class() -> None:
    class Own(seq2seq._BaseAttentionMechanism):
        def __call__(self, query: Any, state: Any) -> Any:
            alignments = self._probability_fn(seq2seq._luong_score(query, self.keys, False), state)
            return alignments, alignments

    with tf.Graph().as_default():
        own = Own(None, tf.constant(MEMORY), lambda score, _: tf.nn.softmax(score), LENGTHS)
        found = _run(own(tf.constant(QUERY), own.initial_state(2, tf.float32))[0])

    masked = MEMORY * COUNTED[:, :, None]
    np.testing.assert_allclose(found, _softmax(np.einsum("bd,btd->bt", QUERY, masked)), rtol=1e-5)


def test_memories_are_zero_behind_their_ends() -> None:
    with tf.Graph().as_default():
        memory = tf.constant(MEMORY)
        by_lengths = seq2seq._prepare_memory(memory, LENGTHS, True)
        by_mask = seq2seq._prepare_memory({"a": memory}, memory_mask=COUNTED)["a"]
        unchanged = seq2seq._prepare_memory(memory, None)
        with pytest.raises(MoxValueError, match="fully defined inner dims"):
            seq2seq._prepare_memory(tf.placeholder(tf.float32, [2, 4, None]), LENGTHS)
        unknown = tf.placeholder_with_default(MEMORY, [2, 4, None])
        accepted = seq2seq._prepare_memory(unknown, LENGTHS, False)
        found = _run([by_lengths, by_mask, unchanged, accepted])

    for value in (found[0], found[1], found[3]):
        np.testing.assert_array_equal(value, MEMORY * COUNTED[:, :, None])
    np.testing.assert_array_equal(found[2], MEMORY)


def test_scores_are_masked_in_the_ways_of_both_times() -> None:
    scores = MEMORY.sum(2)
    with tf.Graph().as_default():
        given = tf.constant(scores)
        found = _run(
            [
                seq2seq._maybe_mask_score(given, LENGTHS, -7.0),
                seq2seq._maybe_mask_score(given, LENGTHS, None, -7.0),
                seq2seq._maybe_mask_score(given, LENGTHS, score_mask_value=np.float32(-7)),
                seq2seq._maybe_mask_score(given, None, tf.constant(COUNTED > 0), -7.0),
                seq2seq._maybe_mask_score(given, LENGTHS),
                seq2seq._maybe_mask_score(given, None, -7.0),
            ]
        )

    for value in found[:4]:
        np.testing.assert_array_equal(value, np.where(COUNTED, scores, -7))
    np.testing.assert_array_equal(found[4], np.where(COUNTED, scores, -np.inf))
    np.testing.assert_array_equal(found[5], scores)


@pytest.mark.parametrize("normalize", [False, True])
def test_additive_scores_make_their_weights_or_take_them(normalize: bool) -> None:
    with tf.Graph().as_default():
        query, keys = tf.constant(QUERY), tf.constant(MEMORY)
        made = seq2seq._bahdanau_score(query, keys, normalize)
        names = [v.op.name for v in tf.global_variables()]
        weights = [tf.get_default_graph().get_tensor_by_name(f"{name}:0") for name in names]
        values = {v.op.name: v for v in tf.global_variables()}
        taken = seq2seq._bahdanau_score(query, keys, *(values[name] for name in names))
        found = _run([made, taken])
        assert len(weights) == (3 if normalize else 1)

    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert names == (
        ["attention_v", "attention_g", "attention_b"] if normalize else ["attention_v"]
    )


def test_multiplicative_scores_and_their_scale() -> None:
    with tf.Graph().as_default():
        query, keys = tf.constant(QUERY), tf.constant(MEMORY)
        plain, scaled = (seq2seq._luong_score(query, keys, flag) for flag in (False, True))
        names = [v.op.name for v in tf.global_variables()]
        found = _run([plain, scaled, seq2seq._luong_score(query, keys, tf.constant(2.0))])

    expected = np.einsum("bd,btd->bt", QUERY, MEMORY)
    for value, factor in zip(found, (1, 1, 2), strict=True):
        np.testing.assert_allclose(value, factor * expected, rtol=1e-5)
    assert names == ["attention_g"]


def test_monotonic_alignments_of_scores() -> None:
    scores = np.array([[-1.0, 2.0, 3.0]], np.float32)
    with tf.Graph().as_default():
        start = tf.constant([[1.0, 0.0, 0.0]])
        found = _run(seq2seq._monotonic_probability_fn(tf.constant(scores), start, 0.0, "hard"))

    np.testing.assert_array_equal(found, [[0, 1, 0]])
    assert issubclass(seq2seq.LuongMonotonicAttention, seq2seq._BaseMonotonicAttentionMechanism)


@pytest.mark.parametrize("size", [None, 6])
def test_a_wrapper_of_a_program_finds_its_parts(size: int | None) -> None:
    class Own(seq2seq.AttentionWrapper):
        def call(self, inputs: Any, state: Any) -> Any:
            message = "The batch is another one."
            with tf.control_dependencies(self._batch_size_checks(tf.shape(inputs)[0], message)):
                output, cell_state = self._cell(
                    self._cell_input_fn(inputs, state.attention), state.cell_state
                )
            (mechanism,) = self._attention_mechanisms
            layer = self._attention_layers[0] if self._attention_layers else None
            attention, alignments, after = seq2seq._compute_attention(
                mechanism, output, state.attention_state, layer
            )
            return attention, state.clone(
                cell_state=cell_state,
                attention=attention,
                time=state.time + 1,
                alignments=self._item_or_tuple([alignments]),
                attention_state=self._item_or_tuple([after]),
            )

    with tf.Graph().as_default():
        mechanism = seq2seq.LuongAttention(5, tf.constant(MEMORY), LENGTHS)
        cell = tf.nn.rnn_cell.GRUCell(5)
        own, plain = (
            kind(cell, mechanism, attention_layer_size=size)
            for kind in (Own, seq2seq.AttentionWrapper)
        )
        with tf.variable_scope("a"):
            first, _ = own(tf.constant(QUERY), own.zero_state(2, tf.float32))
        found = _run(first)
        assert own._attention_layer_size == plain._attention_layer_size == (size or 3)
        assert own.output_size == plain.output_size

    assert found.shape == (2, size or 3)
