"""Regularization losses of layers are those of the stored variables, and are added once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_slim as slim

from moxing.engine.graph.rewrites import precision


@pytest.fixture(autouse=True)
def in_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _penalty(weights: Any) -> tf.Tensor:
    return 0.5 * tf.reduce_sum(tf.square(weights))


def _of_slim(x: tf.Tensor) -> tf.Tensor:
    return slim.fully_connected(
        x, 4, weights_regularizer=_penalty, scope="layer", reuse=tf.AUTO_REUSE
    )


def _by_hand(x: tf.Tensor) -> tf.Tensor:
    with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
        return tf.matmul(x, tf.get_variable("kernel", [3, 4], x.dtype, regularizer=_penalty))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("layer", [_of_slim, _by_hand])
def test_penalties_are_wide_and_of_what_is_stored(
    layer: Callable[[tf.Tensor], tf.Tensor], dtype: tf.DType
) -> None:
    with precision.stored_as(tf.float32):
        made = [layer(tf.ones([2, 3], dtype)) for _ in range(2)]
        loss = tf.losses.get_regularization_loss()
    (kernel,) = (v for v in tf.trainable_variables() if "bias" not in v.op.name)
    [gradient] = tf.gradients(loss, kernel)
    assert {y.dtype for y in made} == {dtype}
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    # The squares' sum is above the largest float16, and 1001 is no bfloat16.
    value = np.full([3, 4], 1001.0, np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel.load(value, session)
        assert session.run(loss) == pytest.approx(0.5 * np.square(value).sum())
        np.testing.assert_array_equal(session.run(gradient), value)


def test_layers_of_other_computations_stay_as_they_are() -> None:
    for dtype in (tf.float32, tf.float16):
        with tf.variable_scope(dtype.name):
            _of_slim(tf.ones([2, 3], dtype))
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.dtype for loss in losses] == [tf.float32, tf.float16]
