"""Estimators with more metrics and predictions than the one they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxValueError
from moxing.estimator import contrib


def test_added_metrics_see_what_they_name(
    estimator: tfe.Estimator, read: Any, problem: Any
) -> None:
    def metric_fn(predictions: Any, labels: Any, features: Any) -> Any:
        positive = tf.cast(labels, tf.float32)
        return {
            "share": tf.metrics.mean(positive),
            "first": tf.metrics.mean(features["x"][:, 0]),
        }

    extended = tfe.add_metrics(estimator, metric_fn)
    extended.train(read(), max_steps=5)
    values = extended.evaluate(read(100, epochs=1))
    assert values["share"] == pytest.approx(problem.y.mean(), abs=1e-6)
    assert values["first"] == pytest.approx(problem.x[:, 0].mean(), abs=1e-6)
    assert values["accuracy"] == estimator.evaluate(read(100, epochs=1))["accuracy"]
    with pytest.raises(MoxValueError, match="takes 'logits'; it may take features, labels"):
        tfe.add_metrics(estimator, lambda logits: {})


def test_features_among_the_predictions(estimator: tfe.Estimator, read: Any, problem: Any) -> None:
    estimator.train(read(), max_steps=1)
    forwards = contrib.forward_features(estimator, "x")
    one = next(forwards.predict(read(50, epochs=1, shuffle=False)))
    np.testing.assert_array_equal(one["x"], problem.x[0])
    assert set(one) == {"x", "class", "logits"}
    with pytest.raises(MoxValueError, match="'y', which is no feature; there are x"):
        next(contrib.forward_features(estimator, ["y"]).predict(read(50, epochs=1)))


def test_clipped_gradients(read: Any, problem: Any, tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
        error = tf.matmul(features["x"], w)[:, 0] - 1000.0 * tf.cast(labels, tf.float32)
        loss = tf.reduce_mean(error**2)
        plain = tf.train.GradientDescentOptimizer(1.0)
        optimizer = contrib.clip_gradients_by_norm(plain, 0.5)
        return tfe.EstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step())
        )

    estimator = tfe.Estimator(model_fn, str(tmp_path)).train(read(600), max_steps=1)
    assert np.linalg.norm(estimator.get_variable_value("w")) == pytest.approx(0.5, rel=1e-5)
