"""Conditional random fields against all taggings, one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import crf

LENGTHS = [3, 1, 2]
DRAW = np.random.RandomState(4)
INPUTS = DRAW.randn(3, 3, 2).astype(np.float32)
TRANSITIONS = DRAW.randn(2, 2).astype(np.float32)
TAGS = DRAW.randint(2, size=(3, 3)).astype(np.int32)


def score(row: int, tags: Any) -> float:
    own = sum(INPUTS[row, t, tag] for t, tag in enumerate(tags))
    return float(own + sum(TRANSITIONS[a, b] for a, b in itertools.pairwise(tags)))


def taggings(row: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(2), repeat=LENGTHS[row]))


def test_likelihoods_are_shares_of_all_taggings_and_have_their_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = tf.constant(INPUTS)
        found, transitions = crf.crf_log_likelihood(inputs, TAGS, LENGTHS)
        gradient = tf.gradients(found, inputs)[0]
        transitions.load(TRANSITIONS, session)
        likelihood, slope = session.run([found, gradient])

        assert transitions.op.name == "transitions"
    for row, length in enumerate(LENGTHS):
        weights = np.exp([score(row, tags) for tags in taggings(row)])
        own = np.exp(score(row, TAGS[row, :length]))
        np.testing.assert_allclose(likelihood[row], np.log(own / weights.sum()), rtol=1e-4)
        # d log-likelihood / d input = whether the tag is there - its probability
        for t, tag in itertools.product(range(length), range(2)):
            having = [tags[t] == tag for tags in taggings(row)]
            wanted = float(TAGS[row, t] == tag) - weights[having].sum() / weights.sum()
            np.testing.assert_allclose(slope[row, t, tag], wanted, rtol=1e-3, atol=1e-5)
        assert (slope[row, length:] == 0).all()


def test_decoding_finds_the_best_tagging() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tags, best = session.run(crf.crf_decode(INPUTS, TRANSITIONS, LENGTHS))

    for row, length in enumerate(LENGTHS):
        wanted = max(taggings(row), key=lambda tags: score(row, tags))
        assert tuple(tags[row, :length]) == wanted
        assert (tags[row, length:] == 0).all()
        np.testing.assert_allclose(best[row], score(row, wanted), rtol=1e-5)
        numpy_tags, numpy_best = crf.viterbi_decode(INPUTS[row, :length], TRANSITIONS)
        assert tuple(numpy_tags) == wanted
        np.testing.assert_allclose(numpy_best, best[row], rtol=1e-5)


def test_a_bitmap_allows_some_tags() -> None:
    bitmap = np.ones([3, 3, 2], bool)
    bitmap[0, 1, 1] = bitmap[2, 0, 0] = False
    with tf.Graph().as_default(), tf.Session() as session:
        many = crf.crf_multitag_sequence_score(INPUTS, bitmap, LENGTHS, TRANSITIONS)
        tags, best = crf.crf_constrained_decode(INPUTS, bitmap, TRANSITIONS, LENGTHS)
        many, tags, best = session.run([many, tags, best])

    for row in range(3):
        allowed = [t for t in taggings(row) if all(bitmap[row, n, tag] for n, tag in enumerate(t))]
        scores = [score(row, tags) for tags in allowed]
        np.testing.assert_allclose(many[row], np.log(np.exp(scores).sum()), rtol=1e-4)
        np.testing.assert_allclose(best[row], max(scores), rtol=1e-5)
        assert tuple(tags[row, : LENGTHS[row]]) == allowed[int(np.argmax(scores))]


def test_one_step_no_step_and_unknown_shapes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, lengths = tf.placeholder(tf.float32, [None, None, 2]), tf.placeholder(tf.int32)
        norm = crf.crf_log_norm(inputs, lengths, TRANSITIONS)
        tags, _ = crf.crf_decode(inputs, TRANSITIONS, lengths)
        fed = {inputs: INPUTS[:, :1], lengths: [1, 0, 1]}
        norm, tags = session.run([norm, tags], fed)

    wanted = np.log(np.exp(INPUTS[:, 0]).sum(1))
    wanted[1] = 0.0
    np.testing.assert_allclose(norm, wanted, rtol=1e-5)
    assert tags[:, 0].tolist() == INPUTS[:, 0].argmax(1).tolist()


def test_the_forward_cell_is_the_forward_algorithm() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cell = crf.CrfForwardRnnCell(tf.constant(TRANSITIONS))
        _, last = tf.nn.dynamic_rnn(
            cell, tf.constant(INPUTS[:, 1:]), initial_state=tf.constant(INPUTS[:, 0])
        )
        wanted = crf.crf_log_norm(INPUTS, [3, 3, 3], TRANSITIONS)
        last, wanted = session.run([tf.reduce_logsumexp(last, 1), wanted])

    np.testing.assert_allclose(last, wanted, rtol=1e-5)
