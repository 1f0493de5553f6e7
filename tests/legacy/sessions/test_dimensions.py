"""Sizes in static shapes, as TensorFlow 1.x took them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.sessions import dimensions


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    dimensions.install()
    dimensions.install()
    yield
    dimensions.uninstall()


def test_whole_numbers_are_sizes() -> None:
    with tf.Graph().as_default():
        assert tf.placeholder(tf.float32, [None, 8 / 2]).shape.as_list() == [None, 4]
        assert tf.get_variable("a", [True, np.float64(3)]).shape.as_list() == [1, 3]
        assert tf.TensorShape(["3", 4, None]).as_list() == [3, 4, None]
        assert type(tf.TensorShape([True]).as_list()[0]) is int
        x = tf.placeholder(tf.float32, [None, None])
        x.set_shape([None, 6 / 2])
        assert x.shape.as_list() == [None, 3]


@pytest.mark.parametrize("size", [2.5, "x", -1, -1.0])
def test_other_numbers_are_not(size: object) -> None:
    with pytest.raises(ValueError, match="Ambiguous dimension: 2.5|invalid literal|>= 0"):
        tf.TensorShape([size])


def test_what_is_no_number_is_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="Dimension value must be integer"):
        tf.TensorShape([object()])


def test_sizes_are_numbers_beside_floats() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        size = tf.TensorShape([None, 4]).dims[1]
        assert isinstance(size, tf.Dimension)
        loss = tf.constant(6.0)
        found = session.run([loss / size, loss * size, size - loss, 2 * tf.nn.l2_loss(loss) / size])
        assert found == [1.5, 24.0, -2.0, 9.0]
        assert (tf.constant([1.0], tf.float64) + size).dtype == tf.float64
        assert tf.convert_to_tensor(size).dtype == tf.int32
        assert (tf.constant(3) * size).dtype == tf.int32


def test_unknown_sizes_are_no_numbers() -> None:
    with tf.Graph().as_default():
        size = tf.TensorShape([None]).dims[0]
        with pytest.raises(ValueError, match="Cannot convert unknown Dimension"):
            _ = tf.constant(6.0) / size


def test_without_it_tensorflow_converts_sizes() -> None:
    dimensions.uninstall()
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must have the same dtype"):
        _ = tf.constant(6.0) / tf.Dimension(4)
