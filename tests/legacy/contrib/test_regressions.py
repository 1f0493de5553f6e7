"""Regressions of `tf.contrib.learn.models` compute what their formulas say, and learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine

X = np.random.RandomState(0).randn(20, 3).astype(np.float32)


@pytest.fixture(scope="module")
def models() -> Any:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    return faces.load("tensorflow.contrib.learn").models


@pytest.mark.parametrize("outputs", [None, 2])
def test_linear(models: Any, outputs: int | None) -> None:
    y = X.sum(1) if outputs is None else X[:, :2] * 3 + 1
    with tf.Graph().as_default(), tf.Session() as session:
        predictions, loss = models.linear_regression(tf.constant(X), tf.constant(y))
        step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
        session.run(tf.global_variables_initializer())
        weights, bias = session.run(tf.trainable_variables())
        found, first = session.run([predictions, loss])
        wanted = (X @ weights + bias).reshape(y.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
        assert first == pytest.approx(((wanted - y) ** 2).mean(), rel=1e-4)
        for _ in range(200):
            session.run(step)
        assert session.run(loss) < 1e-3
        names = [variable.op.name for variable in tf.trainable_variables()]
        assert names == ["linear_regression/weights", "linear_regression/bias"]


def test_logistic(models: Any) -> None:
    y = np.eye(2, dtype=np.float32)[(X[:, 0] > 0).astype(int)]
    with tf.Graph().as_default(), tf.Session() as session:
        factor = tf.constant([1.0, 2.0], name="class_weight")
        zero, at_zero = models.logistic_regression_zero_init(tf.constant(X), tf.constant(y))
        with tf.variable_scope("other"):
            chances, loss = models.logistic_regression(
                tf.constant(X), tf.constant(y), init_mean=0.5, init_stddev=0.1
            )
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(zero), np.full((20, 2), 0.5))
        assert session.run(at_zero) == pytest.approx(np.log(2))
        *_, weights, bias = session.run(tf.trainable_variables())
        powers = np.exp((X @ weights + bias) * session.run(factor))
        wanted = powers / powers.sum(1, keepdims=True)
        found, value = session.run([chances, loss])
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        assert value == pytest.approx(-(y * np.log(wanted)).sum(1).mean(), rel=1e-4)
