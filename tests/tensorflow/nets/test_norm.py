"""Batch norm trains, evaluates and renormalizes as its papers say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError
from moxing.tensorflow.nets import get_model_fn
from moxing.tensorflow.nets.families import resnet_cifar
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.style import Style

X = np.random.default_rng(0).normal(3.0, 2.0, (8, 5, 5, 4)).astype(np.float32)


def _run(*fetches: Any, updates: int = 0) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(updates):
            session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        return session.run(list(fetches))


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.bfloat16])
def test_training_normalizes_by_the_batch(graph: tf.Graph, dtype: tf.DType) -> None:
    style = Style(training=True, norm_scale=True, norm_epsilon=0.001)
    net = batch_norm(style, tf.cast(tf.constant(X), dtype))
    assert net.dtype == dtype
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}
    (value,) = _run(tf.cast(net, tf.float32))
    expected = (X - X.mean((0, 1, 2))) / np.sqrt(X.var((0, 1, 2)) + 0.001)
    tolerance = {tf.float32: 1e-4, tf.float16: 1e-2, tf.bfloat16: 5e-2}[dtype]
    np.testing.assert_allclose(value, expected, atol=tolerance)


def test_moving_averages_follow_the_batch(graph: tf.Graph) -> None:
    batch_norm(Style(training=True, norm_decay=0.9), tf.constant(X))
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["BatchNorm/beta", "BatchNorm/moving_mean", "BatchNorm/moving_variance"]
    assert [v.op.name for v in tf.trainable_variables()] == ["BatchNorm/beta"]
    mean, variance = _run(*tf.global_variables()[1:], updates=3)
    kept = 0.9**3
    np.testing.assert_allclose(mean, (1 - kept) * X.mean((0, 1, 2)), rtol=1e-5)
    unbiased = X.var((0, 1, 2), ddof=1)
    np.testing.assert_allclose(variance, kept + (1 - kept) * unbiased, rtol=1e-5)


def test_evaluation_uses_the_moving_averages(graph: tf.Graph) -> None:
    net = batch_norm(Style(training=False, norm_scale=True, norm_epsilon=0.5), tf.constant(X))
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    values = {"beta": 0.1, "gamma": 2.0, "moving_mean": 3.0, "moving_variance": 4.0}
    with tf.Session() as session:
        for variable in tf.global_variables():
            variable.load(np.full(4, values[variable.op.name.split("/")[1]], "f"), session)
        value = session.run(net)
    np.testing.assert_allclose(value, (X - 3.0) / np.sqrt(4.5) * 2.0 + 0.1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_renorm_corrects_by_the_moving_statistics(layout: str, graph: tf.Graph) -> None:
    step = tf.train.get_or_create_global_step()
    style = Style(training=True, batch_renorm=True, norm_decay=0.9, data_format=layout)
    images = X if layout == "NHWC" else X.transpose(0, 3, 1, 2)
    net = batch_norm(style, tf.constant(images))
    stored = {v.op.name.split("/")[-1]: v for v in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        early = session.run(net)
        session.run(step.assign(100_000))
        late = session.run(net)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        after = session.run(stored)
    if layout == "NCHW":
        early, late = early.transpose(0, 2, 3, 1), late.transpose(0, 2, 3, 1)
    mean, stddev = X.mean((0, 1, 2)), np.sqrt(X.var((0, 1, 2)) + 0.001)
    # Equations (1) and (2) of arXiv:1702.03275 with the first statistics, mean 0 and deviation 1.
    r, d = np.clip(stddev, 1 / 3, 3.0), np.clip(mean, -5.0, 5.0)
    np.testing.assert_allclose(early, (X - mean) / stddev, atol=1e-4)
    np.testing.assert_allclose(late, (X - mean) / stddev * r + d, atol=1e-4)
    np.testing.assert_allclose(after["renorm_mean"], 0.01 * mean, rtol=1e-4)
    np.testing.assert_allclose(after["renorm_stddev"], 0.99 + 0.01 * stddev, rtol=1e-4)
    np.testing.assert_allclose(after["moving_mean"], 0.1 * mean, rtol=1e-4)


def test_renorm_gradient_treats_the_correction_as_constant(graph: tf.Graph) -> None:
    tf.train.get_or_create_global_step()
    images = tf.constant(X)
    weights = tf.constant(np.random.default_rng(1).normal(size=X.shape).astype("f"))
    grads = []
    for renorm in (False, True):
        with tf.variable_scope(f"renorm_{renorm}"):
            net = batch_norm(Style(training=True, batch_renorm=renorm), images)
        grads.append(tf.gradients(tf.reduce_sum(net * weights), images)[0])
    # At step 0 the correction is the identity, so both have the same gradient.
    plain, renormed = _run(*grads)
    np.testing.assert_allclose(renormed, plain, atol=1e-4)


def test_global_step_is_made_at_the_top(
    graph: tf.Graph, float32_getter: Callable[..., Any]
) -> None:
    with tf.variable_scope("net", custom_getter=float32_getter):
        batch_norm(Style(training=True, batch_renorm=True), tf.constant(X))
    step = tf.train.get_global_step()
    assert step is not None
    assert (step.op.name, step.dtype.base_dtype) == ("global_step", tf.int64)


def test_getter_that_hides_the_moving_average_is_named(graph: tf.Graph) -> None:
    def hide(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> tf.Tensor:
        return tf.identity(getter(*args, **kwargs))

    with (
        tf.variable_scope("net", custom_getter=hide),
        pytest.raises(MoxTypeError, match=r"variable scope 'net/BatchNorm' returned"),
    ):
        batch_norm(Style(training=True), tf.constant(X))


def test_network_evaluates_as_it_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    # The usual decay needs a thousand steps to forget the initial statistics.
    usual = resnet_cifar.resnet_style
    monkeypatch.setattr(
        resnet_cifar, "resnet_style", lambda style: replace(usual(style), norm_decay=0.5)
    )
    images = np.random.default_rng(0).uniform(0, 255, (16, 16, 16, 3)).astype(np.float32)
    labels = np.arange(16) % 4
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        logits, _ = get_model_fn("resnet_v1_20", "TRAIN", 4)(tf.constant(images))
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        rate = tf.placeholder_with_default(0.05, [])
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        step = tf.group(tf.train.MomentumOptimizer(rate, 0.9).minimize(loss), *updates)
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            evaluated, _ = get_model_fn("resnet_v1_20", "EVAL", 4)(tf.constant(images))
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(30):
            session.run(step)
        for _ in range(20):
            session.run(updates)
        trained_loss, trained, evaluated_value = session.run([loss, logits, evaluated])
    assert trained_loss < 0.5 * first
    assert np.argmax(trained, 1).tolist() == np.argmax(evaluated_value, 1).tolist()
    np.testing.assert_allclose(evaluated_value, trained, atol=0.05 * np.abs(trained).max())
