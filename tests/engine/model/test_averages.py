"""Moving averages of the weights are kept, saved and resumed, and used where they are asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.keras
import moxing.tensorflow as mox
from moxing import flags
from moxing.engine.job.job import EVAL
from moxing.engine.job.updating import Updating
from moxing.errors import CheckpointError, MoxNotSupportedError, MoxValueError
from moxing.flags.updating import updating

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, exported, exporting, momentum, same, values  # noqa: E402

KEPT = Updating(average_decay=0.6)
AVERAGE = "w/ExponentialMovingAverage"


def expected(steps: int, decay: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """The weight that follows the number 1 by momentum, and its average."""
    w = average = speed = 0.0
    for step in range(1, steps + 1):
        speed = 0.9 * speed + (w - 1.0)  # Of the mean square of two differences.
        w -= 0.1 * speed
        rest = 1 - min(decay, (1 + step) / (10 + step))
        average -= rest * (average - w)
    return np.full(2, w), np.full(2, average)


@pytest.mark.parametrize("devices", [1, 2])
def test_averages_follow_the_weights_over_a_resume(tmp_path: Path, devices: int) -> None:
    fields = {"updating": KEPT, "devices": devices, "copied": True}
    whole = values(execute(log_dir=tmp_path / "whole", max_steps=20, **fields).checkpoint)
    np.testing.assert_allclose(whole["w"], expected(20)[0], rtol=1e-5)
    np.testing.assert_allclose(whole[AVERAGE], expected(20)[1], rtol=1e-5)
    for steps in (8, 20):
        resumed = execute(log_dir=tmp_path / "parts", max_steps=steps, **fields)
    assert same(values(resumed.checkpoint), whole)


def test_a_resumed_run_may_begin_with_averages(tmp_path: Path) -> None:
    execute(log_dir=tmp_path, max_steps=5)
    found = values(execute(log_dir=tmp_path, max_steps=6, updating=KEPT).checkpoint)
    before, after = expected(5)[0], expected(6)[0]
    rest = 1 - min(0.6, 7 / 16)
    np.testing.assert_allclose(found[AVERAGE], before + rest * (after - before), rtol=1e-5)


def test_evaluation_and_export_use_averages_on_request(tmp_path: Path) -> None:
    fields = {"model_fn": exporting, "log_dir": tmp_path, "updating": KEPT, "export": True}
    weight, average = (float(value[0]) for value in expected(5))
    result = execute(**fields)
    np.testing.assert_allclose(exported(result.export_dir, 1.0), 3 * weight, rtol=1e-5)
    fields = {**fields, "mode": EVAL, "max_steps": 1}
    plain = execute(**fields)
    np.testing.assert_allclose(plain.metrics["loss"], (weight - 1) ** 2, rtol=1e-4)
    averaged = execute(**fields, averaged=True)
    np.testing.assert_allclose(averaged.metrics["loss"], (average - 1) ** 2, rtol=1e-4)
    np.testing.assert_allclose(exported(averaged.export_dir, 1.0), 3 * average, rtol=1e-5)


def test_averages_that_are_not_there_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match="this training keeps none: give --ema_decay=0.999"):
        execute(log_dir=tmp_path, averaged=True)
    result = execute(log_dir=tmp_path)
    with pytest.raises(CheckpointError, match="has no moving averages of the model's variables"):
        execute(log_dir=tmp_path, mode=EVAL, max_steps=1, averaged=True)
    assert result.global_step == 5


def test_hooks_evaluate_averages_and_training_goes_on_with_the_weights(
    tmp_path: Path, log: Any
) -> None:
    def model_fn(inputs: Any, mode: str) -> Any:
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(w - 1.0)) + 0.0 * tf.reduce_sum(inputs[0])
        hook = mox.LogEvaluationMetricHook(
            monitor_info={"loss": loss}, batch_size=1, samples_in_train=4, samples_in_eval=1
        )
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

    with flags.overridden(ema_decay=0.6, use_ema=True):
        result = mox.run(
            input_fn=lambda mode: tf.constant([1.0]),
            model_fn=model_fn,
            optimizer_fn=momentum,
            run_mode=mox.ModeKeys.TRAIN,
            inter_mode=mox.ModeKeys.EVAL,
            max_number_of_steps=8,
            log_dir=str(tmp_path),
        )
    np.testing.assert_allclose(values(result.checkpoint)["w"], expected(8)[0], rtol=1e-5)
    lines = [line for line in log.messages if line.startswith("[VALIDATION METRICS] step: 3")]
    wanted = (float(expected(4)[1][0]) - 1) ** 2
    assert any(f"loss: {wanted:.3f}" in line for line in lines), (lines, wanted)


@pytest.mark.parametrize("decay", [1.0, -0.1, 2.0])
def test_a_decay_out_of_range_is_refused(decay: float) -> None:
    with flags.overridden(ema_decay=decay), pytest.raises(MoxValueError, match="--ema_decay="):
        updating()


def test_keras_has_averages_of_its_own() -> None:
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = (np.zeros((4, 2)), np.zeros(4))
    with (
        flags.overridden(ema_decay=0.9),
        pytest.raises(MoxNotSupportedError, match="use_ema=True, ema_momentum=0.9"),
    ):
        moxing.keras.fit(model, data)
