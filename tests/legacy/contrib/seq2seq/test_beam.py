"""Beam search against a search of all sequences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import seq2seq

WORDS, END, STEPS = 4, 0, 3
DRAW = np.random.RandomState(11)
# The score of a word depends on the word before it, and on the example.
TABLES = DRAW.randn(2, WORDS, WORDS).astype(np.float32) * 2
START = [1, 2]


class Table(tf.nn.rnn_cell.RNNCell):
    """A cell whose logits are rows of a table; its state is the number of the example."""

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return WORDS

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        word, example = tf.argmax(inputs, 1), tf.cast(state[:, 0], tf.int64)
        return tf.gather_nd(TABLES, tf.stack([example, word], 1)), state


def decoder(width: int, **options: Any) -> Any:
    state = seq2seq.tile_batch(tf.constant([[0.0], [1.0]]), width)
    return seq2seq.BeamSearchDecoder(Table(), tf.eye(WORDS), START, END, state, width, **options)


def sequences(example: int, weight: float) -> list[tuple[float, list[int]]]:
    """All sequences of an example with their scores, the best first."""
    found = {}
    for words in itertools.product(range(WORDS), repeat=STEPS):
        cut = list(words[: words.index(END) + 1] if END in words else words)
        total, before = 0.0, START[example]
        for word in cut:
            row = TABLES[example, before]
            total += row[word] - np.log(np.exp(row).sum())
            before = word
        # As in TensorFlow 1.x, an end token counts as a word from the next step on.
        length = len(cut) - (1 if cut[-1] == END and len(cut) == STEPS else 0)
        padded = tuple(cut + [END] * (STEPS - len(cut)))
        found[padded] = total / ((5 + length) / 6) ** weight
    return sorted(((score, list(words)) for words, score in found.items()), reverse=True)


def test_a_wide_beam_finds_the_best_sequences() -> None:
    width = 16
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, state, lengths = seq2seq.dynamic_decode(decoder(width), maximum_iterations=STEPS)
        found, scores, lengths = session.run([outputs.predicted_ids, state.log_probs, lengths])

    assert found.shape == (2, STEPS, width)
    for example in range(2):
        wanted = sequences(example, 0.0)[:5]
        for beam, (score, words) in enumerate(wanted):
            assert found[example, :, beam].tolist() == words
            np.testing.assert_allclose(scores[example, beam], score, rtol=1e-4)
        best = wanted[0][1]
        assert lengths.shape == (2, width)
        assert best[0] == END or lengths[example, 0] >= 1


def test_a_beam_of_one_is_greedy_and_a_penalty_prefers_long_sequences() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        greedy, _, _ = seq2seq.dynamic_decode(decoder(1), maximum_iterations=STEPS)
        penalized, _, _ = seq2seq.dynamic_decode(
            decoder(16, length_penalty_weight=2.0), maximum_iterations=STEPS
        )
        one, long, scores = session.run(
            [
                greedy.predicted_ids,
                penalized.predicted_ids,
                penalized.beam_search_decoder_output.scores,
            ]
        )

    for example in range(2):
        word, said = START[example], []
        for _ in range(STEPS):
            word = END if said and word == END else int(TABLES[example, word].argmax())
            said.append(word)
        assert one[example, :, 0].tolist() == said
        best_score, best = sequences(example, 2.0)[0]
        assert long[example, :, 0].tolist() == best
        np.testing.assert_allclose(scores[example, -1, 0], best_score, rtol=1e-4)


def test_trees_are_read_from_their_leaves() -> None:
    # The example of two beams that change their places.
    ids = np.array([[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]], np.int32)
    parents = np.array([[[0, 0]], [[1, 0]], [[1, 0]], [[0, 1]]], np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        whole = seq2seq.gather_tree(ids, parents, [4], 9)
        short = seq2seq.gather_tree(ids, parents, [3], 9)
        ended = seq2seq.gather_tree(ids, parents, [4], 4)
        values = tf.constant(ids[..., None] * [1.0, 10.0], tf.float32)
        array = seq2seq.gather_tree_from_array(values, parents, [[4, 3]])
        whole, short, ended, array = session.run([whole, short, ended, array])

    # Beam 0 at the end: 7, from 5, from 4, from 1; beam 1: 8, from 6, from 3, from 2.
    assert whole[:, 0].T.tolist() == [[1, 4, 5, 7], [2, 3, 6, 8]]
    assert short[:, 0].T.tolist() == [[1, 4, 5, 9], [2, 3, 6, 9]]
    assert ended[:, 0].T.tolist() == [[1, 4, 4, 4], [2, 3, 6, 8]]
    assert array[:, 0, :, 0].T.tolist() == [[1, 4, 5, 7], [2, 3, 6, 0]]
    assert array[:, 0, :, 1].T.tolist() == [[10, 40, 50, 70], [20, 30, 60, 0]]


@pytest.mark.parametrize("static", [True, False])
def test_beams_attend_to_tiled_memories(static: bool) -> None:
    width, batch = 3, 2
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(2)
        value = np.random.RandomState(0).randn(batch, 5, 4).astype(np.float32)
        memory = tf.placeholder(tf.float32, [batch if static else None, None, 4])
        tiled = seq2seq.tile_batch(memory, width)
        mechanism = seq2seq.BahdanauAttention(4, tiled)
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.LSTMCell(4), mechanism, 4, alignment_history=True
        )
        size = tf.shape(memory)[0]
        start = cell.zero_state(batch * width if static else size * width, tf.float32)
        beams = seq2seq.BeamSearchDecoder(
            cell,
            tf.get_variable("embedding", [WORDS, 4]),
            tf.fill([size], 1) if not static else [1] * batch,
            END,
            start,
            width,
            output_layer=tf.layers.Dense(WORDS, use_bias=False),
            coverage_penalty_weight=0.2,
        )
        outputs, state, _ = seq2seq.dynamic_decode(beams, maximum_iterations=4)
        session.run(tf.global_variables_initializer())
        history = state.cell_state.alignment_history
        found, history = session.run([outputs.predicted_ids, history], {memory: value})

    steps = found.shape[1]
    assert found.shape == (batch, steps, width)
    assert history.shape == (steps, batch * width, 5)
    sums = history.sum(-1)
    assert np.all(np.isclose(sums, 1, atol=1e-4) | (sums == 0))
    assert np.allclose(sums[0], 1, atol=1e-4)


def test_states_are_tiled_and_what_cannot_be_says_so() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        pair = seq2seq.tile_batch((tf.constant([[1, 2], [3, 4]]), tf.constant([5, 6])), 2)
        one, two = session.run(pair)
        assert one.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
        assert two.tolist() == [5, 5, 6, 6]
        with pytest.raises(ValueError, match=r"needs \[batch, ...\]"):
            seq2seq.tile_batch(tf.constant(1), 2)
        with pytest.raises(ValueError, match="needs an AttentionWrapper"):
            seq2seq.dynamic_decode(decoder(2, coverage_penalty_weight=1.0))
        with pytest.raises(TypeError, match="Expected decoder"):
            seq2seq.dynamic_decode("decoder")
