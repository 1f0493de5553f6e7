"""The gradient of 1x1 convolutions is TensorFlow's own, reached in another way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import get_model_fn
from moxing.tensorflow.nets.pointwise import faster_gradient

Graphs = Callable[[], AbstractContextManager[tf.Graph]]


def _gradients(applies: bool, dtype: tf.DType, seed: int = 0) -> tuple[list[np.ndarray], set[str]]:
    """Of images and kernel, and the types of the operations that compute the latter's."""
    chance = np.random.default_rng(seed)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        images = tf.constant(chance.normal(size=[2, 5, 7, 3]), dtype)
        kernel = tf.constant(chance.normal(size=[1, 1, 3, 4]), dtype)
        weights = tf.constant(chance.normal(size=[2, 5, 7, 4]), dtype)
        with faster_gradient(applies):
            result = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME")
        found = tf.gradients(result * weights, [images, kernel])
        return session.run(found), {op.type for op in graph.get_operations()}


@pytest.mark.parametrize(("dtype", "tolerance"), [(tf.float32, 1e-5), (tf.float16, 2e-2)])
def test_both_gradients_are_those_of_tensorflow(dtype: tf.DType, tolerance: float) -> None:
    ours, types = _gradients(True, dtype)
    theirs, plain = _gradients(False, dtype)
    assert "MatMul" in types
    assert "Conv2DBackpropFilter" in plain - types
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_it_has_a_gradient_itself() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.constant(np.arange(24.0).reshape(1, 2, 4, 3))
        kernel = tf.constant(np.arange(6.0).reshape(1, 1, 3, 2))
        with faster_gradient(True):
            result = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME")
        [first] = tf.gradients(result**2, kernel)
        [second] = tf.gradients(first, kernel)
        # The sum of (x k)^2 has the second derivative 2 x x^T, summed over its columns.
        rows = session.run(images).reshape(-1, 3)
        wanted = 2 * (rows.T @ rows).sum(0)
        np.testing.assert_allclose(session.run(second)[0, 0], np.stack([wanted, wanted], 1))


def _own_gradients(mode: str, graphs: Graphs) -> int:
    with graphs() as graph:
        model = get_model_fn("resnet_v1_50", mode, 10, image_height=32, image_width=32)
        model(tf.zeros([1, 32, 32, 3]))
        nodes = graph.as_graph_def().node
        return sum("_gradient_op_type" in node.attr for node in nodes)


def test_only_networks_that_train_have_it(without_initializers: Graphs) -> None:
    found = [_own_gradients(mode, without_initializers) for mode in ("TRAIN", "EVAL", "EXPORT")]
    assert found[0] > 0
    assert found[1] == found[2] == 0
