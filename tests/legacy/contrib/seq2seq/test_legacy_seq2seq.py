"""Unrolled decoders: numbers against NumPy, the names of variables, and buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.seq2seq import legacy_seq2seq

BATCH, SYMBOLS, SIZE, UNITS = 2, 5, 3, 4


def ids(steps: int, seed: int) -> list[Any]:
    draw = np.random.RandomState(seed)
    return [tf.constant(draw.randint(SYMBOLS, size=BATCH), tf.int32) for _ in range(steps)]


def gru() -> Any:
    return tf.nn.rnn_cell.GRUCell(UNITS)


def names() -> set[str]:
    return {variable.op.name for variable in tf.global_variables()}


def test_losses_of_lists() -> None:
    draw = np.random.RandomState(2)
    logits = draw.randn(3, BATCH, SYMBOLS).astype(np.float32)
    targets = draw.randint(SYMBOLS, size=(3, BATCH))
    weights = np.array([[1, 1], [1, 0], [0.5, 0]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        lists: Any = [[tf.constant(v) for v in values] for values in (logits, targets, weights)]
        each = legacy_seq2seq.sequence_loss_by_example(*lists)
        whole = legacy_seq2seq.sequence_loss(*lists)
        summed = legacy_seq2seq.sequence_loss(
            *lists, average_across_timesteps=False, average_across_batch=False
        )
        each, whole, summed = session.run([each, whole, summed])

    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    entropy = -np.log(np.take_along_axis(shares, targets[..., None], -1))[..., 0] * weights
    np.testing.assert_allclose(each, entropy.sum(0) / weights.sum(0), rtol=1e-5)
    np.testing.assert_allclose(whole, each.mean(), rtol=1e-5)
    np.testing.assert_allclose(summed, entropy.sum(), rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda labels, logits: 2.0 * tf.cast(labels, tf.float32) + logits[:, 0],
        lambda labels, inputs: 2.0 * tf.cast(labels, tf.float32) + inputs[:, 0],
        lambda inputs, labels: 2.0 * tf.cast(labels, tf.float32) + inputs[:, 0],
    ],
)
def test_loss_functions_of_all_versions_get_their_arguments(function: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.constant([[5.0, 0.0]]), tf.constant([3])
        loss = legacy_seq2seq.sequence_loss(
            [logits], [labels], [tf.ones([1])], softmax_loss_function=function
        )
        assert session.run(loss) == pytest.approx(11)


def test_attention_reads_weighted_states() -> None:
    draw = np.random.RandomState(2)
    inputs = draw.randn(2, BATCH, SIZE).astype(np.float32)
    states = draw.randn(BATCH, 6, UNITS).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, _ = legacy_seq2seq.attention_decoder(
            [tf.constant(x) for x in inputs],
            tf.zeros([BATCH, UNITS]),
            tf.constant(states),
            tf.nn.rnn_cell.BasicRNNCell(UNITS),
            output_size=2,
        )
        session.run(tf.global_variables_initializer())
        w = {v.op.name.removeprefix("attention_decoder/"): v.eval() for v in tf.global_variables()}
        found = session.run(outputs)

    h, read = np.zeros([BATCH, UNITS]), np.zeros([BATCH, UNITS])
    for step in range(2):
        x = np.concatenate([inputs[step], read], 1) @ w["kernel"] + w["bias"]
        cell = "basic_rnn_cell"
        h = np.tanh(np.concatenate([x, h], 1) @ w[f"{cell}/kernel"] + w[f"{cell}/bias"])
        query = h @ w["Attention_0/kernel"] + w["Attention_0/bias"]
        scores = (w["AttnV_0"] * np.tanh(states @ w["AttnW_0"][0, 0] + query[:, None])).sum(-1)
        a = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        read = (a[..., None] * states).sum(1)
        out = np.concatenate([h, read], 1) @ w["AttnOutputProjection/kernel"]
        wanted = out + w["AttnOutputProjection/bias"]
        np.testing.assert_allclose(found[step], wanted, rtol=1e-4, atol=1e-5)


def test_variables_have_the_names_of_old_checkpoints() -> None:
    with tf.Graph().as_default():
        outputs, _ = legacy_seq2seq.embedding_attention_seq2seq(
            ids(3, 1), ids(2, 2), gru(), SYMBOLS, SYMBOLS, SIZE, feed_previous=True
        )
        shown = names()

    root = "embedding_attention_seq2seq"
    decoder = f"{root}/embedding_attention_decoder"
    inner = f"{decoder}/attention_decoder"
    assert [output.shape.as_list() for output in outputs] == [[BATCH, SYMBOLS]] * 2
    assert shown == {
        f"{root}/rnn/embedding_wrapper/embedding",
        f"{root}/rnn/embedding_wrapper/gru_cell/gates/kernel",
        f"{root}/rnn/embedding_wrapper/gru_cell/gates/bias",
        f"{root}/rnn/embedding_wrapper/gru_cell/candidate/kernel",
        f"{root}/rnn/embedding_wrapper/gru_cell/candidate/bias",
        f"{decoder}/embedding",
        f"{inner}/AttnW_0",
        f"{inner}/AttnV_0",
        f"{inner}/kernel",
        f"{inner}/bias",
        f"{inner}/output_projection_wrapper/gru_cell/gates/kernel",
        f"{inner}/output_projection_wrapper/gru_cell/gates/bias",
        f"{inner}/output_projection_wrapper/gru_cell/candidate/kernel",
        f"{inner}/output_projection_wrapper/gru_cell/candidate/bias",
        f"{inner}/output_projection_wrapper/kernel",
        f"{inner}/output_projection_wrapper/bias",
        f"{inner}/Attention_0/kernel",
        f"{inner}/Attention_0/bias",
        f"{inner}/AttnOutputProjection/kernel",
        f"{inner}/AttnOutputProjection/bias",
    }


def test_a_tensor_chooses_what_feeds_the_decoder() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        feed = tf.placeholder(tf.bool, [])
        cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(UNITS) for _ in "ab"])
        outputs, state = legacy_seq2seq.embedding_rnn_seq2seq(
            ids(2, 1), ids(6, 2), cells, SYMBOLS, SYMBOLS, SIZE, feed_previous=feed
        )
        session.run(tf.global_variables_initializer())
        own, given = (session.run(outputs, {feed: value}) for value in (True, False))

        assert len(state) == 2
        np.testing.assert_allclose(own[0], given[0], rtol=1e-5)
        assert not np.array_equal(own[-1], given[-1])


@pytest.mark.parametrize("kind", ["basic", "tied", "embedding_tied", "one2many"])
def test_the_other_models_can_be_built_and_share_what_they_should(kind: str) -> None:
    with tf.Graph().as_default():
        vectors = [tf.zeros([BATCH, SIZE])] * 2
        if kind == "basic":
            outputs, _ = legacy_seq2seq.basic_rnn_seq2seq(vectors, vectors, gru())
            wanted = 8
        elif kind == "tied":
            outputs, _ = legacy_seq2seq.tied_rnn_seq2seq(vectors, vectors, gru())
            wanted = 4
            assert "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/gru_cell/gates/kernel" in names()
        elif kind == "embedding_tied":
            outputs, _ = legacy_seq2seq.embedding_tied_rnn_seq2seq(
                ids(2, 1), ids(2, 2), gru(), SYMBOLS, SIZE
            )
            wanted = 7
        else:
            outputs, _ = legacy_seq2seq.one2many_rnn_seq2seq(
                ids(2, 1),
                {"a": ids(2, 2), "b": ids(3, 3)},
                gru(),
                {"a": gru(), "b": gru()},
                SYMBOLS,
                {"a": SYMBOLS, "b": 7},
                SIZE,
            )
            wanted = 5 + 2 * 7
            assert outputs["b"][2].shape.as_list() == [BATCH, 7]

        assert len(outputs) == 2
        assert len(names()) == wanted, names()


def test_buckets_share_their_variables_and_learn() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        source, target = ids(4, 1), ids(4, 2)
        weights = [tf.ones([BATCH])] * 4

        def model(encoder: Any, decoder: Any) -> Any:
            return legacy_seq2seq.embedding_rnn_seq2seq(
                encoder, decoder, gru(), SYMBOLS, SYMBOLS, SIZE
            )

        outputs, losses = legacy_seq2seq.model_with_buckets(
            source, target, target, weights, [(2, 2), (4, 4)], model
        )
        step = tf.train.AdamOptimizer(0.05).minimize(tf.add_n(losses))
        session.run(tf.global_variables_initializer())
        before = session.run(losses)
        for _ in range(60):
            session.run(step)
        after = session.run(losses)

        assert [len(found) for found in outputs] == [2, 4]
        assert after[0] < before[0] / 4
        assert after[1] < before[1] / 4
        with pytest.raises(ValueError, match="Length of targets"):
            legacy_seq2seq.model_with_buckets(source, target, target[:1], weights, [(2, 2)], model)


def test_a_decoder_needs_inputs_and_heads() -> None:
    with tf.Graph().as_default():
        states, cell = tf.zeros([1, 2, 3]), gru()
        with pytest.raises(ValueError, match="at least 1 input"):
            legacy_seq2seq.attention_decoder([], None, states, cell)
        with pytest.raises(ValueError, match="less than 1 heads"):
            legacy_seq2seq.attention_decoder([tf.zeros([1, 3])], None, states, cell, num_heads=0)
        with pytest.raises(ValueError, match="must be the same: 1, 2, 1"):
            legacy_seq2seq.sequence_loss([1], [1], [1, 2])


def test_buckets_take_a_cell_that_all_of_them_call() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(UNITS), gru()])
        inputs, weights = ids(3, 1), [tf.ones([BATCH])] * 3

        def model(encoder: Any, decoder: Any) -> Any:
            return legacy_seq2seq.embedding_attention_seq2seq(
                encoder, decoder, cell, SYMBOLS, SYMBOLS, SIZE
            )

        _, losses = legacy_seq2seq.model_with_buckets(
            inputs, inputs, inputs, weights, [(1, 1), (2, 2), (3, 3)], model
        )
        kernels = sorted(name for name in names() if name.endswith("lstm_cell/kernel"))
        inside = "multi_rnn_cell/cell_0/basic_lstm_cell/kernel"
        assert len(kernels) == 2
        assert kernels[0].endswith(f"attention_decoder/output_projection_wrapper/{inside}")
        assert kernels[1].endswith(f"rnn/embedding_wrapper/{inside}")
        for loss in losses:
            gradients = tf.gradients(loss, tf.trainable_variables())
            assert all(gradient is not None for gradient in gradients)
        session.run(tf.global_variables_initializer())
        assert all(value > 0 for value in session.run(losses))
