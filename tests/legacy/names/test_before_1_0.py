"""Programs of 2016 call functions by names, and in orders, that TensorFlow 1.0 changed."""

from __future__ import annotations

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from moxing.legacy.names import before_1_0 as old  # noqa: E402


def test_old_and_new_orders_of_arguments_give_the_same() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0, 3.0, 4.0]])
        pairs = [
            (old.concat(1, [x, x]), tf.concat([x, x], 1)),
            (old.concat(concat_dim=1, values=[x, x]), tf.concat([x, x], 1)),
            (old.concat([x, x], 0), tf.concat([x, x], 0)),
            (old.concat(values=[x, x], axis=0), tf.concat([x, x], 0)),
            (old.split(1, 2, x)[1], tf.split(x, 2, 1)[1]),
            (old.split(split_dim=1, num_split=2, value=x)[1], tf.split(x, 2, 1)[1]),
            (old.split(x, [1, 3], 1)[1], tf.split(x, [1, 3], 1)[1]),
            (old.split_v(x, [1, 3], 1)[1], tf.split(x, [1, 3], 1)[1]),
            (old.reverse(x, [False, True]), tf.reverse(x, [1])),
            (old.reverse(x, [1]), tf.reverse(x, [1])),
            (old.batch_matmul(x, x, adj_y=True), tf.matmul(x, x, transpose_b=True)),
        ]
        for found, wanted in session.run(pairs):
            np.testing.assert_array_equal(found, wanted)


def test_images_are_resized_to_two_numbers_or_one_pair() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1))
        nearest = tf.image.ResizeMethod.NEAREST_NEIGHBOR
        found = session.run(
            [
                old.resize_images(image, 2, 2, nearest),
                old.resize_images(image, [2, 2], nearest),
                old.resize_images(image, size=(2, 2), method=nearest),
                old.resize_images(image, new_height=2, new_width=2, method=nearest),
            ]
        )

    for value in found:
        assert value[0, ..., 0].tolist() == [[0, 2], [8, 10]]


def test_losses_took_logits_first_and_inputs_before_labels() -> None:
    draw = np.random.RandomState(0)
    logits = draw.randn(2, 3).astype(np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    weights, biases = draw.randn(9, 3).astype(np.float32), np.zeros(9, np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        one_hot, zeros = tf.constant([[0.0, 1, 0], [1, 0, 0]]), tf.zeros([2, 3])
        labels = tf.constant([[1], [4]], tf.int64)
        both = [labels, tf.constant(logits)]
        sampled = (tf.constant([3, 5], tf.int64), tf.ones([2, 1]), tf.ones([2]))
        found = session.run(
            [
                old.softmax_cross_entropy_with_logits(logits, one_hot),
                old.sparse_softmax_cross_entropy_with_logits(logits, [1, 0]),
                old.softmax_cross_entropy_with_logits(labels=one_hot, logits=logits),
                old.sigmoid_cross_entropy_with_logits(zeros, one_hot),
                old.sigmoid_cross_entropy_with_logits(logits=zeros, targets=one_hot),
                old.weighted_cross_entropy_with_logits(targets=one_hot, logits=zeros, pos_weight=1),
                old.nce_loss(weights, biases, *both, 2, 9, sampled_values=sampled),
                old.nce_loss(weights, biases, *both[::-1], 2, 9, sampled_values=sampled),
                old.sampled_softmax_loss(weights, biases, *both, 2, 9, sampled_values=sampled),
                old.sampled_softmax_loss(
                    weights, biases, *both[::-1], 2, 9, sampled_values=sampled
                ),
            ]
        )

    for value in found[:3]:
        np.testing.assert_allclose(value, [-np.log(shares[0, 1]), -np.log(shares[1, 0])], 1e-5)
    for value in found[3:6]:
        np.testing.assert_allclose(value, np.full([2, 3], np.log(2)), 1e-5)
    np.testing.assert_array_equal(found[6], found[7])
    np.testing.assert_array_equal(found[8], found[9])


def test_summaries_keep_their_tags_and_are_collected(tmp_path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        old.scalar_summary("loss (raw)", 2.0)
        old.scalar_summary(["a", "b"], [1.0, 2.0], collections=["other"])
        old.histogram_summary("values", [1.0, 2.0])
        old.image_summary("pictures", tf.zeros([5, 2, 2, 1]), max_images=2)
        old.audio_summary("sounds", tf.zeros([1, 4, 1]), 8000)
        merged = tf.Summary.FromString(session.run(tf.summary.merge_all()))
        other = tf.Summary.FromString(session.run(tf.get_collection("other")[0]))
        writer = old.summary_writer(str(tmp_path), graph.as_graph_def())
        writer.add_summary(merged, 3)
        writer.close()

    tags = [value.tag for value in merged.value]
    images = ["pictures/image/0", "pictures/image/1"]
    assert tags == ["loss (raw)", "values", *images, "sounds/audio/0"]
    assert [(v.tag, v.simple_value) for v in other.value] == [("a", 1), ("b", 2)]
    events = list(tf.train.summary_iterator(str(next(tmp_path.iterdir()))))
    assert [event.step for event in events if event.HasField("summary")] == [3]
    assert any(event.graph_def for event in events)


def test_shape_functions_of_operations_stay_functions() -> None:
    @old.RegisterShape("MatMul")
    def shape(op: tf.Operation) -> list[int]:
        return [len(op.inputs)]

    with tf.Graph().as_default():
        product = tf.matmul(tf.zeros([2, 3]), tf.zeros([3, 4]))
    assert product.shape == [2, 4]
    assert shape(product.op) == [2]
