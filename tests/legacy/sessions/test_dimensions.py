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
