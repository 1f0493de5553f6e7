"""Evaluation during training: its steps, its samples, and that training does not notice."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxKeyError, MoxValueError

once = tf.data.make_one_shot_iterator


def run(hook: Any, steps: int, inter_mode: str | None = "EVAL", rate: float = 0.0) -> None:
    """Trains a scale on the numbers 0, 1, ... and evaluates on 100, 101, ..., 106."""

    def input_fn(mode: str) -> Any:
        numbers = (
            tf.data.Dataset.range(1000) if mode == "TRAIN" else tf.data.Dataset.range(100, 107)
        )
        return tf.to_float(once(numbers).get_next())

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        (x,) = inputs
        scale = tf.get_variable("scale", initializer=1.0)
        hidden = tf.layers.batch_normalization(tf.expand_dims(x, 1), training=mode == "TRAIN")
        value = tf.reduce_mean(x) * scale + 0.0 * tf.reduce_sum(hidden)
        return mox.ModelSpec(loss=value, log_info={"mean": value}, hooks=[hook(value)])

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=rate or 1e-30),
        run_mode=mox.ModeKeys.TRAIN,
        inter_mode=inter_mode,
        batch_size=4,
        log_every_n_steps=1,
        max_number_of_steps=steps,
    )


def log_metrics(value: tf.Tensor) -> mox.LogEvaluationMetricHook:
    return mox.LogEvaluationMetricHook({"value": value}, 4, 20, 7)


def lines(caplog: pytest.LogCaptureFixture, start: str) -> list[str]:
    return [message for message in caplog.messages if message.startswith(start)]


@pytest.fixture(autouse=True)
def captured(caplog: pytest.LogCaptureFixture) -> Any:
    with caplog.at_level(logging.INFO, "tensorflow"):
        yield


def test_evaluations_come_at_the_documented_steps_and_see_every_sample_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(log_metrics, 16)
    # 20 samples in batches of 4: five steps an epoch. The mean of 100 to 106 is 103, which an
    # unweighted mean of the batches (101.5 and 105) is not.
    assert lines(caplog, "[VALIDATION") == [
        "[VALIDATION METRICS] step: 4 value: 103.000",
        "[VALIDATION METRICS] step: 9 value: 103.000",
        "[VALIDATION METRICS] step: 14 value: 103.000",
        lines(caplog, "[VALIDATION METRICS] 3 evaluations took")[0],
    ]


def test_training_data_goes_on_as_if_nothing_was_evaluated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(log_metrics, 12)
    means = [float(line.split("mean: ")[1]) for line in lines(caplog, "step: ")]
    assert means == [1.5 + 4 * step for step in range(12)]


@pytest.mark.parametrize(
    ("samples_in_train", "steps"), [(1000, [31, 63, 95]), (640, [19, 39, 59, 79])]
)
def test_the_manual_s_steps(
    samples_in_train: int, steps: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    def hook(value: tf.Tensor) -> Any:
        return mox.LogEvaluationMetricHook({"value": value}, 32, samples_in_train, 4)

    run(hook, 100)
    found = [int(line.split()[3]) for line in lines(caplog, "[VALIDATION METRICS] step:")]
    assert found == steps if samples_in_train == 1000 else found[:4] == steps


def test_early_stopping_ends_at_the_fourth_evaluation_without_improvement(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def hook(value: tf.Tensor) -> Any:
        return mox.EarlyStoppingHook({"accuracy": value}, "accuracy", 4, 20, 7, 1, 0.01, 3)

    run(hook, 1000)
    assert [line.split()[2] for line in lines(caplog, "[EarlyStopping] step:")] == [
        "4",
        "9",
        "14",
        "19",
    ]
    assert lines(caplog, "Trained 20 steps")


def test_a_loss_that_falls_keeps_training(caplog: pytest.LogCaptureFixture) -> None:
    def hook(value: tf.Tensor) -> Any:
        return mox.EarlyStoppingHook({"loss": value}, "loss", 4, 4, 4, patience=2)

    run(hook, 10, rate=0.001)
    assert lines(caplog, "Trained 10 steps")


def test_an_evaluation_that_asks_for_more_than_there_is_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def hook(value: tf.Tensor) -> Any:
        return mox.LogEvaluationMetricHook({"value": value}, 4, 20, 40)

    run(hook, 5)
    assert any("the evaluation input ended after 2 of 10 batches" in m for m in caplog.messages)


def test_a_hook_that_evaluates_needs_inter_mode() -> None:
    with pytest.raises(MoxValueError) as caught:
        run(log_metrics, 5, inter_mode=None)
    assert str(caught.value) == (
        "the hook LogEvaluationMetricHook evaluates during training (run_inter_mode() is True),"
        " which needs mox.run(..., inter_mode=mox.ModeKeys.EVAL)."
    )


def test_an_unknown_monitor_lists_the_known() -> None:
    with tf.Graph().as_default(), pytest.raises(MoxKeyError) as caught:
        mox.EarlyStoppingHook({"accuracy": tf.constant(1.0)}, "acuracy", 4, 20, 7)
    assert str(caught.value) == (
        "EarlyStoppingHook: monitor='acuracy' is not in monitor_info, which has accuracy. Did you"
        " mean 'accuracy'?"
    )


def test_a_second_model_with_variables_of_its_own_is_refused() -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        w = tf.get_variable("w", initializer=1.0)
        if mode == "EVAL":
            tf.Variable(2.0, name="extra")
        return mox.ModelSpec(loss=w, log_info={"w": w})

    with pytest.raises(MoxValueError, match="model_fn made the variable extra in EVAL, which it"):
        mox.run(
            input_fn=lambda mode: tf.constant(0.0),
            model_fn=model_fn,
            optimizer_fn=mox.get_optimizer_fn("sgd", 0.1),
            run_mode="TRAIN",
            inter_mode="EVAL",
            max_number_of_steps=2,
        )
