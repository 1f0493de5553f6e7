"""Images of the layout NCHW beside choices between images and a number, on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session as sessions

from moxing.engine.graph.rewrites import operands
from moxing.legacy.sessions import layouts, lenient


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions.BaseSession, "__init__", sessions.BaseSession.__init__)
    monkeypatch.setattr(operands, "_changes", {})
    lenient.install()
    layouts.install()


def _values(images: Any, layout: str) -> list[Any]:
    """The loss of a network with three choices, and the sizes of its gradients."""
    start = tf.constant_initializer(0.1)
    kind = {"data_format": layout, "padding": "same"}
    x = tf.layers.conv2d(images, 4, 3, kernel_initializer=start, **kind) - 0.5
    x = tf.where_v2(x > 0, x, 0.1)
    x = tf.nn.dropout(x, rate=1e-6)  # Drops nothing, but chooses.
    x = tf.layers.max_pooling2d(x, 2, 2, **kind)
    x = tf.where_v2(x > 0.2, 0.3, x)
    loss = tf.reduce_mean(tf.square(x))
    gradients = tf.gradients(loss, tf.trainable_variables(tf.get_variable_scope().name))
    return [loss, *(tf.reduce_sum(tf.square(gradient)) for gradient in gradients)]


@pytest.mark.skipif("layouts.devices.has_gpu()")
def test_choices_with_a_number_leave_the_layout_to_be_rewritten() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.placeholder(tf.float32, [None, 3, 8, 8])
        with tf.variable_scope("last"):
            last = _values(tf.transpose(images, [0, 2, 3, 1]), "channels_last")
        with tf.variable_scope("first"):
            first = _values(images, "channels_first")
        session.run(tf.global_variables_initializer())
        drawn = np.random.RandomState(1).rand(2, 3, 8, 8)
        found, wanted = (session.run(values, {images: drawn}) for values in (first, last))
        assert wanted[0] > 0
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)


def test_other_graphs_choose_as_before() -> None:
    with tf.Graph().as_default() as graph:
        tf.nn.dropout(tf.ones([2, 8, 8, 3]), rate=0.5)
        choices = [op for op in graph.get_operations() if op.type == "SelectV2"]
    assert [op.inputs[2].shape.rank for op in choices] == [0]
