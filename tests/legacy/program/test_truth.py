"""A variable of a graph is true; one of eager execution has the truth of its value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import resource_variable_ops

from moxing.legacy.program import truth


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    kind = resource_variable_ops.BaseResourceVariable
    before = kind.__bool__, kind.__nonzero__, tf2.Tensor.__len__
    yield
    kind.__bool__, kind.__nonzero__, tf2.Tensor.__len__ = before


def test_a_variable_in_a_graph_is_true() -> None:
    truth.install()
    truth.install()
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [], use_resource=True, initializer=tf.zeros_initializer())
        assert (variable or None) is variable
        assert [v for v in (None, variable) if v] == [variable]


def test_an_eager_one_has_a_value() -> None:
    truth.install()
    with tf2.init_scope():
        if tf.executing_eagerly():
            assert bool(tf2.Variable(1))  # type: ignore
            assert not tf2.Variable(0)  # type: ignore


def test_a_tensor_of_a_graph_has_no_length() -> None:
    truth.install()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, None], "x")
        assert not hasattr(x, "__len__")
        with pytest.raises(TypeError, match=r"len\(\) of x:0: .* Take x.shape\[0\]"):
            len(x)
        assert tf.stack([x, x]).shape.as_list() == [2, 3, None]
    with tf2.init_scope():
        if tf.executing_eagerly():
            assert len(tf2.constant([1, 2])) == 2
