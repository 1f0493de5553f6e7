"""Gradients of several devices meet in their mean, whatever their size and kind."""

from __future__ import annotations

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Model
from moxing.engine.parallel import reduce
from moxing.engine.parallel.reduce import AllReduce, Spread
from moxing.engine.parallel.replicas import Replica


def evaluated(tensors: object) -> list[np.ndarray]:
    with tf.Session() as session:
        return session.run(tensors)


def spread(count: int) -> Spread:
    return Spread([Replica(index, "", Model()) for index in range(count)])


def test_the_mean_over_devices() -> None:
    with tf.Graph().as_default():
        (mean,) = spread(2).mean([[tf.constant([1.0, 2.0])], [tf.constant([3.0, 6.0])]])
        np.testing.assert_allclose(evaluated(mean), [2.0, 4.0])


def test_sparse_gradients_stay_sparse_within_a_process() -> None:
    with tf.Graph().as_default():
        rows = [
            tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([0]), tf.constant([3, 1])),
            tf.IndexedSlices(tf.constant([[4.0]]), tf.constant([2]), tf.constant([3, 1])),
        ]
        (mean,) = spread(2).mean([[rows[0]], [rows[1]]])
        assert isinstance(mean, tf.IndexedSlices)
        dense = tf.convert_to_tensor(mean)
        np.testing.assert_allclose(evaluated(dense), [[1.0], [0.0], [2.0]])


def test_a_sparse_and_a_dense_gradient_meet_as_dense() -> None:
    with tf.Graph().as_default():
        sparse = tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([0]), tf.constant([2, 1]))
        (mean,) = spread(2).mean([[sparse], [tf.constant([[2.0], [4.0]])]])
        np.testing.assert_allclose(evaluated(mean), [[2.0], [2.0]])


def test_sums_over_one_process_are_the_tensors_in_every_way_of_sending() -> None:
    values = [np.ones(3, np.float32), np.full(2 * reduce._PIECE // 4 + 7, 2.0, np.float32)]
    with tf.Graph().as_default():
        sums = AllReduce(1).sums([tf.constant(value) for value in values])
        for value, total in zip(values, evaluated(sums), strict=True):
            np.testing.assert_array_equal(value, total)


def test_a_rider_travels_with_the_first_sums_only() -> None:
    with tf.Graph().as_default():
        team = AllReduce(1, rider=tf.constant(5.0))
        first, second = team.sums([tf.constant(1.0)]), team.sums([tf.constant(2.0)])
        assert evaluated([*first, *second, team.carried]) == [1.0, 2.0, 5.0]


def test_compressed_sums_keep_their_type() -> None:
    with tf.Graph().as_default():
        total = AllReduce(1, compressed=True).sum(tf.constant([1.0, 65504.0, 1e-3]))
        assert total.dtype == tf.float32
        np.testing.assert_allclose(evaluated(total), np.array([1.0, 65504.0, 1e-3], np.float16))


def test_bfloat16_travels_as_float32() -> None:
    with tf.Graph().as_default() as graph:
        total = AllReduce(1).sum(tf.constant([1.0, 3.0], tf.bfloat16))
        assert total.dtype == tf.bfloat16
        sent = [op for op in graph.get_operations() if op.type.startswith("Collective")]
        assert [op.inputs[0].dtype for op in sent] == [tf.float32]
        np.testing.assert_array_equal(evaluated(tf.cast(total, tf.float32)), [1.0, 3.0])


def test_compressed_sums_send_half_the_bytes() -> None:
    with tf.Graph().as_default() as graph:
        AllReduce(1, compressed=True).sums([tf.zeros([3]), tf.zeros([3], tf.float64)])
        AllReduce(1).sums([tf.zeros([3])])
        sent = [op.inputs[0] for op in graph.get_operations() if "Collective" in op.type]
    assert [tensor.dtype for tensor in sent] == [tf.float16, tf.float64, tf.float32]
