"""Sessions on a machine without a GPU, and fetches that were lists in Python 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session as sessions

from moxing.engine.graph import devices
from moxing.legacy.sessions import lenient


@pytest.fixture(autouse=True)
def lenient_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions.BaseSession, "__init__", sessions.BaseSession.__init__)
    lenient.install()
    installed = sessions.BaseSession.__init__
    lenient.install()
    assert sessions.BaseSession.__init__ is installed


@pytest.mark.skipif("devices.has_gpu()")
@pytest.mark.parametrize("config", [None, tf.ConfigProto(log_device_placement=False)])
def test_a_gpu_that_is_not_there_is_the_cpu(config: tf.ConfigProto | None) -> None:
    assert not devices.has_gpu()
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            product = tf.matmul([[2.0]], [[3.0]])
        with tf.Session(config=config) as session:
            assert session.run(product) == 6
        assert config is None or not config.allow_soft_placement


def _layers(images: Any, layout: str) -> list[Any]:
    """The loss of a small network and its gradients by variables, which start alike."""
    axis = 1 if layout == "channels_first" else 3
    kind = {"data_format": layout, "padding": "same"}
    start = tf.constant_initializer(0.1)
    x = tf.layers.conv2d(images, 4, 3, activation=tf.nn.relu, kernel_initializer=start, **kind)
    x = tf.layers.batch_normalization(x, axis=axis, training=True)
    x = tf.layers.max_pooling2d(x, 2, 2, **kind)
    x = tf.layers.conv2d_transpose(x, 4, 3, 2, kernel_initializer=start, **kind)
    x = tf.layers.average_pooling2d(x, 2, 2, **kind)
    loss = tf.reduce_mean(tf.square(x))
    gradients = tf.gradients(loss, tf.trainable_variables(tf.get_variable_scope().name))
    # TensorFlow rewrites no operation whose own output is fetched.
    return [loss, *(tf.reduce_sum(tf.square(gradient)) for gradient in gradients)]


@pytest.mark.skipif("devices.has_gpu()")
def test_channels_may_come_first_on_the_cpu() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.placeholder(tf.float32, [None, 3, 8, 8])
        with tf.device("/gpu:0"), tf.variable_scope("first"):
            first = _layers(images, "channels_first")
        with tf.variable_scope("last"):
            last = _layers(tf.transpose(images, [0, 2, 3, 1]), "channels_last")
        session.run(tf.global_variables_initializer())
        drawn = np.random.RandomState(1).rand(2, 3, 8, 8)
        found, wanted = (session.run(values, {images: drawn}) for values in (first, last))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_views_and_iterators_are_fetched_as_lists() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        named = {"a": tf.constant(1), "b": tf.constant(2)}
        assert session.run(named.values()) == [1, 2]
        assert session.run(map(tf.negative, named.values())) == [-1, -2]
        assert session.run(filter(lambda tensor: tensor is named["b"], [*named.values()])) == [2]
        assert session.run([named, named.values()]) == [{"a": 1, "b": 2}, [1, 2]]
