"""Runtime flags that every test finds at their defaults, and a small problem to learn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe

Said = Callable[[str], list[str]]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No platform says that this process is one of several."""
    monkeypatch.delenv("TF_CONFIG", raising=False)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Said]:
    """`said("step:")`: the messages of TensorFlow's logger so far that hold this text."""

    def messages(text: str = "") -> list[str]:
        found = [record for record in caplog.records if record.name == "tensorflow"]
        return [record.getMessage() for record in found if text in record.getMessage()]

    with caplog.at_level(logging.INFO, "tensorflow"):
        yield messages


@pytest.fixture(scope="session")
def problem() -> SimpleNamespace:
    """Points of five numbers, `x`, and whether their sum is positive, `y`."""
    x = np.random.default_rng(0).normal(size=(600, 5)).astype(np.float32)
    return SimpleNamespace(x=x, y=(x.sum(1) > 0).astype(np.int64))


@pytest.fixture
def read(problem: SimpleNamespace) -> Callable[..., Any]:
    """`read(50)`: an input function of batches of 50, shuffled, without end unless told so."""

    def make(batch: int = 50, epochs: int | None = None, shuffle: bool = True) -> Any:
        return tfe.inputs.numpy_input_fn(
            {"x": problem.x}, problem.y, batch, epochs, shuffle=shuffle
        )

    return make


def logits_of(features: Any) -> tf.Tensor:
    """Softmax regression, from zero."""
    weights = tf.get_variable("w", [5, 2], initializer=tf.zeros_initializer())
    return tf.matmul(features["x"], weights)


@pytest.fixture
def model_fn() -> Callable[..., Any]:
    """Softmax regression; `params` may hold a learning rate, `rate`."""

    def build(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        logits = logits_of(features)
        predictions = {"class": tf.argmax(logits, 1), "logits": logits}
        if mode == tfe.ModeKeys.PREDICT:
            return tfe.EstimatorSpec(mode, predictions=predictions)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        if mode == tfe.ModeKeys.EVAL:
            metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["class"])}
            return tfe.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        optimizer = tf.train.GradientDescentOptimizer(params.get("rate", 0.1))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tfe.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return build


@pytest.fixture
def estimator(model_fn: Callable[..., Any], tmp_path: Path) -> tfe.Estimator:
    return tfe.Estimator(model_fn, str(tmp_path / "model"))
