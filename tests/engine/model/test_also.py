"""Log lines show the learning rate and the norm of the gradient where they are asked for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.keras
import moxing.tensorflow as mox
from moxing.errors import MoxValueError
from moxing.estimator import Estimator, RunConfig
from moxing.estimator.modeling.spec import EstimatorSpec

BOTH = "learning_rate,gradient_norm"


def optimizer() -> tf.train.Optimizer:
    step = tf.train.get_or_create_global_step()
    return tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.4, step, 1, 0.5))


def values(log_dir: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (log_dir / "metrics.jsonl").read_text().splitlines())
    return [line["values"] for line in lines]


def train(log_dir: Path, info: Callable[[Any], Any] = lambda loss: {"loss": loss}) -> None:
    """Trains w, of which the loss is 3 * w[0] + 4 * w[1]: the norm of its gradient is 5."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weights = tf.get_variable("w", [2])
        loss = tf.reduce_sum(weights * [3.0, 4.0]) * tf.reduce_mean(inputs[0])
        return mox.ModelSpec(loss=loss, log_info=info(loss))

    mox.run(
        input_fn=lambda mode: tf.constant(1.0),
        model_fn=model_fn,
        optimizer_fn=optimizer,
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=2,
        log_dir=str(log_dir),
        max_number_of_steps=3,
        log_every_n_steps=1,
    )


@pytest.mark.parametrize(
    "settings", [{}, {"gradient_clip_norm": 0.1}, {"num_gpus": 2, "accumulate_steps": 2}]
)
def test_the_rate_of_the_step_and_the_norm_before_clipping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], caplog: Any
) -> None:
    monkeypatch.setenv("MOX_LOG_ALSO", BOTH)
    for name, value in settings.items():
        mox.set_flag(name, value)
    caplog.set_level(logging.INFO, "tensorflow")
    train(tmp_path)
    found = values(tmp_path)
    assert [list(one) for one in found] == [["loss", "learning_rate", "gradient_norm"]] * 3
    np.testing.assert_allclose([one["learning_rate"] for one in found], [0.4, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose([one["gradient_norm"] for one in found], 5.0, rtol=1e-6)
    assert "\tlearning_rate: 0.200\tgradient_norm: 5.000" in caplog.text


def test_a_value_of_the_program_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_LOG_ALSO", "gradient_norm")
    train(tmp_path, lambda loss: {"gradient_norm": tf.constant(7.0)})
    assert values(tmp_path) == [{"gradient_norm": 7.0}] * 3


def test_a_value_that_there_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOX_LOG_ALSO", "gradient_nrom")
    with pytest.raises(MoxValueError) as raised:
        train(tmp_path)
    assert str(raised.value) == (
        "MOX_LOG_ALSO (mox run --log-also) names 'gradient_nrom'. Did you mean 'gradient_norm'? It"
        " is a list, with commas, of: learning_rate, gradient_norm."
    )


def test_an_estimator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_LOG_ALSO", BOTH)

    def model_fn(features: Any, labels: Any, mode: Any) -> EstimatorSpec:
        loss = tf.reduce_sum(tf.get_variable("w", [2]) * [3.0, 4.0]) * tf.reduce_mean(features)
        step = tf.train.get_or_create_global_step()
        return EstimatorSpec(mode, loss=loss, train_op=optimizer().minimize(loss, step))

    config = RunConfig(log_step_count_steps=1)
    Estimator(model_fn, str(tmp_path), config).train(
        lambda: tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat(), max_steps=2
    )
    assert [(one["learning_rate"], one["gradient_norm"]) for one in values(tmp_path)] == [
        (pytest.approx(0.4), pytest.approx(5.0)),
        (pytest.approx(0.2), pytest.approx(5.0)),
    ]


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
@pytest.mark.parametrize("scheduled", [True, False])
def test_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, scheduled: bool
) -> None:
    keras = pytest.importorskip(package)
    monkeypatch.setenv("MOX_LOG_ALSO", BOTH)
    model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1, use_bias=False)])
    rate: Any = keras.optimizers.schedules.ExponentialDecay(0.4, 1, 0.5) if scheduled else 0.25
    model.compile(keras.optimizers.SGD(rate), lambda y, p: p)  # The gradient is the input.
    x, y = np.tile([[3.0, 4.0]], [8, 1]).astype("float32"), np.zeros([8, 1], "float32")
    moxing.keras.fit(model, (x, y), output_dir=tmp_path, steps=3, batch_size=4, log_every=1)
    found = [(one["learning_rate"], one["gradient_norm"]) for one in values(tmp_path)]
    rates = [0.4, 0.2, 0.1] if scheduled else [0.25] * 3
    np.testing.assert_allclose(found, [(rate, 5.0) for rate in rates], rtol=1e-6)
