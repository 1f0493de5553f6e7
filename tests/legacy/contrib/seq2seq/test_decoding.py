"""Decoders and their helpers against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import seq2seq

BATCH, TIME, DEPTH, UNITS, WORDS = 3, 4, 5, 6, 7
LENGTHS = np.array([4, 2, 3], np.int32)
DRAW = np.random.RandomState(6)
INPUTS = DRAW.randn(BATCH, TIME, DEPTH).astype(np.float32)
EMBEDDING = DRAW.randn(WORDS, DEPTH).astype(np.float32)


def cell() -> Any:
    return tf.nn.rnn_cell.BasicRNNCell(UNITS)


def weights(session: Any) -> dict[str, np.ndarray]:
    """New values of all variables, by name."""
    values = {}
    draw = np.random.RandomState(2)
    for variable in tf.global_variables():
        values[variable.op.name] = draw.randn(*variable.shape.as_list()).astype(np.float32)
        variable.load(values[variable.op.name], session)
    return values


def step(x: Any, h: Any, w: dict[str, np.ndarray]) -> tuple[Any, Any]:
    """The cell and the output layer."""
    at = "decoder/basic_rnn_cell"
    h = np.tanh(np.concatenate([x, h], 1) @ w[f"{at}/kernel"] + w[f"{at}/bias"])
    return h, h @ w["decoder/dense/kernel"] + w["decoder/dense/bias"]


def decode(helper: Any, **options: Any) -> Any:
    decoder = seq2seq.BasicDecoder(cell(), helper, tf.zeros([BATCH, UNITS]), tf.layers.Dense(WORDS))
    return seq2seq.dynamic_decode(decoder, **options)


@pytest.mark.parametrize("time_major", [False, True])
def test_training_runs_over_the_true_inputs(time_major: bool) -> None:
    inputs = INPUTS.transpose(1, 0, 2) if time_major else INPUTS
    with tf.Graph().as_default(), tf.Session() as session:
        helper = seq2seq.TrainingHelper(inputs, LENGTHS, time_major)
        outputs, state, lengths = decode(helper, impute_finished=True, output_time_major=time_major)
        w = weights(session)
        outputs, state, lengths = session.run([outputs, state, lengths])

    logits, ids = outputs.rnn_output, outputs.sample_id
    if time_major:
        logits, ids = logits.transpose(1, 0, 2), ids.T
    h = np.zeros([BATCH, UNITS])
    for time in range(TIME):
        new, wanted = step(INPUTS[:, time], h, w)
        on = time < LENGTHS
        h = np.where(on[:, None], new, h)
        np.testing.assert_allclose(logits[on, time], wanted[on], rtol=1e-4, atol=1e-5)
        assert (logits[~on, time] == 0).all()
        assert (ids[on, time] == wanted[on].argmax(1)).all()
    np.testing.assert_allclose(state, h, rtol=1e-4, atol=1e-5)
    assert lengths.tolist() == LENGTHS.tolist()


def test_greedy_decoding_feeds_itself_until_the_end_or_the_limit() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        helper = seq2seq.GreedyEmbeddingHelper(tf.constant(EMBEDDING), [1, 2, 3], 0)
        outputs, _, lengths = decode(helper, maximum_iterations=9)
        w = weights(session)
        ids, lengths = session.run([outputs.sample_id, lengths])

    for row, start in enumerate([1, 2, 3]):
        word, h, said = start, np.zeros([1, UNITS]), []
        while len(said) < 9 and (not said or word != 0):
            h, logits = step(EMBEDDING[[word]], h, w)
            word = int(logits.argmax())
            said.append(word)
        assert ids[row, : lengths[row]].tolist() == said


def test_sampling_follows_the_probabilities() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.tile(tf.log([[0.7, 0.2, 0.1]]), [4000, 1])
        helper = seq2seq.SampleEmbeddingHelper(EMBEDDING, tf.zeros([4000], tf.int32), 0, seed=1)
        cold = seq2seq.SampleEmbeddingHelper(
            EMBEDDING, tf.zeros([4000], tf.int32), 0, softmax_temperature=0.01, seed=1
        )
        drawn, sure = session.run([each.sample(0, logits, None) for each in (helper, cold)])

    np.testing.assert_allclose(np.bincount(drawn) / 4000, [0.7, 0.2, 0.1], atol=0.03)
    assert (sure == 0).all()


def test_scheduled_helpers_mix_the_truth_with_samples() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        never = seq2seq.ScheduledEmbeddingTrainingHelper(INPUTS, LENGTHS, EMBEDDING, 0.0)
        always = seq2seq.ScheduledEmbeddingTrainingHelper(INPUTS, LENGTHS, EMBEDDING, 1.0)
        outputs = tf.constant(np.eye(WORDS)[[1, 2, 3]] * 1e4, tf.float32)
        results = []
        for helper in (never, always):
            ids = helper.sample(0, outputs, None)
            results.append((ids, helper.next_inputs(0, outputs, None, ids)[1]))
        own = seq2seq.ScheduledOutputTrainingHelper(
            INPUTS, LENGTHS, 1.0, next_inputs_fn=lambda out: out[:, :DEPTH]
        )
        ids = own.sample(0, outputs, None)
        taken = own.next_inputs(0, outputs, None, ids)[1]
        (no_ids, truth), (all_ids, samples), taken = session.run([*results, taken])

    assert no_ids.tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(truth, INPUTS[:, 1])
    assert all_ids.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(samples, EMBEDDING[[1, 2, 3]])
    np.testing.assert_array_equal(taken, (np.eye(WORDS)[[1, 2, 3]] * 1e4)[:, :DEPTH])


def test_helpers_of_functions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.zeros([BATCH, WORDS])
        inference = seq2seq.InferenceHelper(
            sample_fn=lambda outputs: outputs,
            sample_shape=[WORDS],
            sample_dtype=tf.float32,
            start_inputs=start,
            end_fn=lambda sample: tf.zeros([BATCH], tf.bool),
        )
        outputs, _, lengths = decode(inference, maximum_iterations=3)
        custom = seq2seq.CustomHelper(
            lambda: (tf.constant([False] * BATCH), start),
            lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
            lambda time, outputs, state, sample_ids: (time + 2 > [1, 2, 3], outputs, state),
        )
        with pytest.raises(ValueError, match="before initialize"):
            _ = custom.batch_size
        with tf.variable_scope("two"):
            _, _, own = decode(custom)
        weights(session)
        outputs, lengths, own = session.run([outputs, lengths, own])

    np.testing.assert_array_equal(outputs.rnn_output, outputs.sample_id)
    assert lengths.tolist() == [3, 3, 3]
    assert own.tolist() == [1, 2, 3]


def test_losses_of_tensors() -> None:
    logits = DRAW.randn(2, 3, WORDS).astype(np.float32)
    targets = DRAW.randint(WORDS, size=(2, 3))
    w = np.array([[1, 1, 0], [1, 0.5, 0]], np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    each = -np.log(np.take_along_axis(shares, targets[..., None], -1))[..., 0] * w
    with tf.Graph().as_default(), tf.Session() as session:

        def loss(*flags: bool) -> Any:
            args = [tf.constant(v) for v in (logits, targets, w)]
            return seq2seq.sequence_loss(
                *args,
                average_across_timesteps=flags[0],
                average_across_batch=flags[1],
                sum_over_timesteps=flags[2],
                sum_over_batch=flags[3],
            )

        found = session.run(
            [
                loss(True, True, False, False),
                loss(True, False, False, False),
                loss(False, True, False, False),
                loss(False, False, False, False),
                loss(False, False, True, True),
                loss(False, False, True, False),
            ]
        )
        with pytest.raises(ValueError, match="mutually exclusive"):
            loss(True, False, True, False)

    sums = each.sum(0)
    wanted = [
        each.sum() / w.sum(),
        each.sum(1) / w.sum(1),
        np.divide(sums, w.sum(0), out=np.zeros_like(sums), where=w.sum(0) > 0),
        each,
        each.sum() / 4,
        each.sum(1) / 2,
    ]
    for value, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, right, rtol=1e-5)
