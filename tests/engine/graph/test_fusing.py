"""Sessions of servers run convolutions of every type."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import fusing


def convolution(kind: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns an input and the activation of a convolution of ones with a bias."""
    images = tf.placeholder(kind, [2, 6, 6, 1])
    made = tf.nn.conv2d(images, tf.ones([3, 3, 1, 4], kind), 1, "VALID")
    return images, tf.nn.relu(tf.nn.bias_add(made, tf.ones([4], kind)))


@pytest.mark.parametrize("kind", [tf.bfloat16, tf.half, tf.float32])
def test_a_server_runs_a_convolution_with_its_activation(kind: tf.DType) -> None:
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default() as graph:
        images, activation = convolution(kind)
        config = tf.ConfigProto()
        fusing.configure(config, graph)
        with tf.Session(server.target, config=config) as session:
            value = session.run(tf.cast(activation, tf.float32), {images: np.ones((2, 6, 6, 1))})
    np.testing.assert_array_equal(value, np.full((2, 4, 4, 4), 10.0))


@pytest.mark.parametrize("kind", [tf.bfloat16, tf.float32])
def test_other_graphs_are_fused_as_before(kind: tf.DType) -> None:
    with tf.Graph().as_default() as graph:
        if kind == tf.bfloat16:  # In a function, as of a loop.
            tf.function(lambda: convolution(kind)[1])()
        else:
            convolution(kind)
        config = tf.ConfigProto()
        fusing.configure(config, graph)
    options = config.graph_options.rewrite_options
    assert options.remapping == (options.OFF if kind == tf.bfloat16 else options.DEFAULT)
