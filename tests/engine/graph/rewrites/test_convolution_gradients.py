"""Gradients of strided 1x1 convolutions are right, and not those that crash TensorFlow on CPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices
from moxing.engine.graph.rewrites import convolution_gradients


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    convolution_gradients.install()
    convolution_gradients.install()  # Once more changes nothing.


def _filters(graph: tf.Graph) -> list[list[int]]:
    """The strides of the gradients of filters in a graph."""
    found = [op for op in graph.get_operations() if op.type == "Conv2DBackpropFilter"]
    return [list(op.get_attr("strides")) for op in found]


def _by_hand(x: np.ndarray, w: np.ndarray, strides: tuple[int, int]) -> list[np.ndarray]:
    """Gradients of half the sum of squares of a 1x1 convolution."""
    read = x[:, :: strides[0], :: strides[1]]
    y = read @ w[0, 0]
    to_x = np.zeros_like(x)
    to_x[:, :: strides[0], :: strides[1]] = y @ w[0, 0].T
    return [to_x, np.einsum("bhwi,bhwo->io", read, y)[None, None]]


@pytest.mark.parametrize("strides", [(2, 2), (3, 3), (1, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_are_those_of_the_pixels_that_are_read(
    strides: tuple[int, int], padding: str
) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 7, 8, 3)).astype(np.float32)
    w = random.normal(size=(1, 1, 3, 5)).astype(np.float32)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        given: Any = [tf.constant(x), tf.constant(w)]
        y = tf.nn.conv2d(given[0], given[1], strides=[1, *strides, 1], padding=padding)
        gradients = tf.gradients(0.5 * tf.reduce_sum(tf.square(y)), given)
        assert _filters(graph) == [[1, 1, 1, 1]]
        for ours, right in zip(session.run(gradients), _by_hand(x, w, strides), strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [(1, 1, "SAME"), (3, 2, "SAME"), (1, 2, [[0, 0], [1, 1], [1, 1], [0, 0]])],
)
def test_other_convolutions_keep_their_gradients(kernel: int, stride: int, padding: Any) -> None:
    with tf.Graph().as_default() as graph:
        w = tf.ones([kernel, kernel, 3, 5])
        y = tf.nn.conv2d(tf.ones([2, 8, 8, 3]), w, strides=stride, padding=padding)
        tf.gradients(y, w)
        assert _filters(graph) == [[1, stride, stride, 1]]
