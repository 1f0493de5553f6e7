"""Graphs that contrib rewrites train in 8 bits, and evaluate as they were trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import quantize

RNG = np.random.default_rng(5)
IMAGES = RNG.normal(size=(16, 8, 8, 2)).astype(np.float32)
LABELS = (IMAGES.mean((1, 2)) > 0).astype(np.float32)


@pytest.fixture(autouse=True)
def references() -> Iterator[None]:
    resources = tf.resource_variables_enabled()
    tf.disable_resource_variables()
    yield
    (tf.enable_resource_variables if resources else tf.disable_resource_variables)()


def _norm(x: Any, training: bool) -> Any:
    with tf.variable_scope("norm"):
        shape = [x.shape[3]]
        gamma = tf.get_variable("gamma", shape, initializer=tf.constant_initializer(1.5))
        beta = tf.get_variable("beta", shape, initializer=tf.constant_initializer(0.1))
        zeros, ones = tf.zeros_initializer(), tf.ones_initializer()
        mean = tf.get_variable("moving_mean", shape, initializer=zeros, trainable=False)
        var = tf.get_variable("moving_variance", shape, initializer=ones, trainable=False)
        if not training:
            return tf.nn.fused_batch_norm(x, gamma, beta, mean, var, is_training=False)[0]
        y, batch_mean, batch_var = tf.nn.fused_batch_norm(x, gamma, beta, is_training=True)
        for moving, now in ((mean, batch_mean), (var, batch_var)):
            update = tf.assign_sub(moving, 0.1 * (moving - now))
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
        return y


def _weights(shape: list[int]) -> Any:
    start = tf.random_normal_initializer(stddev=0.3, seed=1)
    return tf.get_variable("weights", shape, initializer=start)


def _network(images: Any, training: bool) -> Any:
    with tf.variable_scope("first"):
        x = tf.nn.relu6(_norm(tf.nn.conv2d(images, _weights([3, 3, 2, 4]), 1, "SAME"), training))
    with tf.variable_scope("deep"):
        y = tf.nn.depthwise_conv2d_native(x, _weights([3, 3, 4, 1]), [1] * 4, "SAME")
        x = tf.nn.relu(x + _norm(y, training))
    with tf.variable_scope("last"):
        bias = tf.get_variable("bias", [2], initializer=tf.zeros_initializer())
        x = tf.reduce_mean(x, [1, 2])
        return tf.nn.bias_add(tf.matmul(x, _weights([4, 2])), bias, name="logits")


def _train(session: Any, logits: Any, steps: int) -> float:
    loss = tf.losses.sigmoid_cross_entropy(LABELS, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        _, last = session.run([step, loss])
    return float(last)


def _logits() -> Any:
    # Consumers read the rounded logits; the operation keeps its name.
    return tf.get_default_graph().get_tensor_by_name("last/logits:0")


def test_a_network_trains_rounded_and_evaluates_as_trained(tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        output = tf.identity(_network(tf.constant(IMAGES), True), "output")
        # As the documentation advises, ranges settle before values are held to them.
        quantize.create_training_graph(quant_delay=50)
        rounded = output.op.inputs[0]
        assert rounded is not _logits()
        assert _train(session, output, 150) < 0.2
        tf.train.Saver().save(session, checkpoint)
        names = {name for name, _ in tf.train.list_variables(checkpoint)}

    # The names of TensorFlow 1.15.
    for layer in ("first", "deep", "last"):
        assert {f"{layer}/weights_quant/{end}" for end in ("min", "max")} <= names
    assert {"first/act_quant/min", "deep/conv_quant/max", "deep/act_quant/max"} <= names
    assert "last/act_quant/max" in names

    with tf.Graph().as_default(), tf.Session() as session:
        output = tf.identity(_network(tf.constant(IMAGES), False), "output")
        quantize.create_eval_graph()
        tf.train.Saver().restore(session, checkpoint)
        rounded, exact = session.run([output, _logits()])
        low, high = session.run(["last/act_quant/min:0", "last/act_quant/max:0"])
        folded = session.run(
            tf.get_default_graph().get_tensor_by_name("first/Conv2D_Fold:0").op.inputs[1]
        )
        kernel, gamma, var = session.run(
            ["first/weights:0", "first/norm/gamma:0", "first/norm/moving_variance:0"]
        )
        bounds = session.run(["first/weights_quant/min:0", "first/weights_quant/max:0"])

    assert ((rounded > 0) == (LABELS > 0)).mean() > 0.9
    # 255 steps of 8 bits, one of which is 0.
    steps = (rounded - rounded[0, 0]) / ((high - low) / 255)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-2)
    assert np.abs(rounded - exact.clip(low, high)).max() <= (high - low) / 255
    wanted = kernel * gamma / np.sqrt(var + 0.001)
    np.testing.assert_allclose(folded, wanted.clip(*bounds), atol=(bounds[1] - bounds[0]) / 254)
    assert len(np.unique(folded)) > 20


@pytest.mark.slow
def test_until_the_delay_a_network_is_as_it_was() -> None:
    losses = []
    for delay in (None, 1000, 5):
        with tf.Graph().as_default(), tf.Session() as session:
            output = tf.identity(_network(tf.constant(IMAGES), True), "output")
            if delay:
                quantize.create_training_graph(quant_delay=delay)
            losses.append(_train(session, output, 12))

    # The norms of batches are folded without a change of what the network computes.
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)
    assert losses[2] != pytest.approx(losses[0], abs=1e-4)


def test_norms_use_moving_averages_after_their_delay() -> None:
    outputs = []
    for training, delay in ((True, None), (True, 0), (False, None)):
        with tf.Graph().as_default(), tf.Session() as session:
            output = tf.identity(_network(tf.constant(IMAGES), training), "output")
            if training:
                quantize.experimental_create_training_graph(
                    quant_delay=10**6, freeze_bn_delay=delay
                )
            session.run(tf.global_variables_initializer())
            outputs.append(session.run(output))

    np.testing.assert_allclose(outputs[1], outputs[2], atol=1e-4)
    assert np.abs(outputs[0] - outputs[2]).max() > 1e-3


def test_bits_scopes_and_symmetry_are_chosen() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.identity(_network(tf.constant(IMAGES), True), "output")
        quantize.experimental_create_training_graph(
            weight_bits=4, activation_bits=4, symmetric=True, scope="last"
        )
        names = [v.op.name for v in tf.global_variables() if "_quant/" in v.op.name]
        assert {name.split("/")[0] for name in names} == {"last"}
        session.run(tf.global_variables_initializer())
        (product,) = [op for op in tf.get_default_graph().get_operations() if op.type == "MatMul"]
        weights = session.run(product.inputs[1])
        low, high = session.run(["last/weights_quant/min:0", "last/weights_quant/max:0"])

    assert low == -high
    steps = weights / (high / 7)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
    assert steps.min() >= -7.001
