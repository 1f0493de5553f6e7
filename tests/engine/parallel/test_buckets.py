"""Small neighbors of one type travel together, up to a limit."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.buckets import buckets


def test_small_tensors_of_one_type_share_a_bucket() -> None:
    with tf.Graph().as_default():
        small, other = tf.zeros([10]), tf.zeros([10], tf.float64)
        large = tf.zeros([100])
        tensors = [small, small, other, other, small, large, small]
        assert buckets(tensors, 400, 800) == [[0, 1], [2, 3], [4], [5], [6]]


def test_a_bucket_holds_no_more_than_its_limit() -> None:
    with tf.Graph().as_default():
        half = tf.zeros([50])
        assert [len(bucket) for bucket in buckets([half] * 5, 400, 800)] == [4, 1]


def test_a_tensor_of_unknown_size_travels_alone() -> None:
    with tf.Graph().as_default():
        unknown = tf.placeholder(tf.float32, [None])
        assert buckets([tf.zeros([1]), unknown, tf.zeros([1])], 400, 800) == [[0], [1], [2]]
