"""What evaluation during training leaves as it is: weights, statistics, and the order of data."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

SAMPLES_IN_EVAL = 7


def input_fn(mode: str) -> list[tf.Tensor]:
    count = 40 if mode == "TRAIN" else SAMPLES_IN_EVAL
    dataset = tf.data.Dataset.range(count)
    if mode == "TRAIN":
        dataset = dataset.shuffle(40).repeat()
    number = tf.data.make_one_shot_iterator(dataset).get_next()
    # In EVAL other values, so that statistics that saw them would be others.
    offset = 0.0 if mode == "TRAIN" else 100.0
    noise = tf.random_uniform([3]) if mode == "TRAIN" else tf.zeros([3])
    return [tf.to_float(number) / 40.0 + offset + noise, number]


def run(log_dir: Path, evaluates: bool, batches: list[int] | None = None, steps: int = 24) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        x, number = inputs
        training = mode == "TRAIN"
        x = tf.layers.batch_normalization(x, training=training, name="norm")
        x = tf.layers.dropout(tf.layers.dense(x, 4, name="hidden"), 0.5, training=training)
        x = tf.layers.dense(x, 1, name="out")
        loss = tf.reduce_mean(tf.square(x))
        if batches is not None and not training:
            seen = batches

            def note(value: Any) -> Any:
                seen.append(len(value))
                return np.float32(0.0)

            loss += tf.py_func(note, [number], tf.float32)
            loss.set_shape([])
        hooks = []
        if evaluates:
            hooks = [mox.LogEvaluationMetricHook({"loss": loss}, 4, 20, SAMPLES_IN_EVAL)]
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=hooks)

    mox.set_flag("seed", 7)
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", 0.01, momentum=0.9),
        run_mode="TRAIN",
        inter_mode="EVAL" if evaluates else None,
        batch_size=4,
        log_dir=str(log_dir),
        max_number_of_steps=steps,
    )


def values(directory: Path) -> dict[str, np.ndarray]:
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(directory)))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def test_weights_and_statistics_are_bitwise_those_of_a_run_without_it(tmp_path: Path) -> None:
    run(tmp_path / "plain", evaluates=False)
    run(tmp_path / "evaluating", evaluates=True)
    plain, evaluating = values(tmp_path / "plain"), values(tmp_path / "evaluating")
    assert plain.keys() == evaluating.keys()
    assert any("moving_mean" in name for name in plain)
    for name, value in plain.items():
        assert value.tobytes() == evaluating[name].tobytes(), name


def test_evaluation_runs_the_exact_number_of_batches(tmp_path: Path) -> None:
    batches: list[int] = []
    run(tmp_path, evaluates=True, batches=batches, steps=15)
    assert batches == [4, 3] * 3


def test_statistics_do_not_change_while_it_evaluates(tmp_path: Path) -> None:
    seen: list[bytes] = []

    class Watched(mox.LogEvaluationMetricHook):
        def _evaluate(self, session: tf.Session) -> dict[str, float]:
            def bits() -> bytes:
                return b"".join(value.tobytes() for value in session.run(self.statistics))

            before = bits()
            result = super()._evaluate(session)
            seen.extend([before, bits()])
            return result

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        x = tf.layers.batch_normalization(inputs[0], training=mode == "TRAIN", name="norm")
        loss = tf.reduce_mean(tf.square(x)) + tf.get_variable("w", initializer=1.0)
        hook = Watched({"loss": loss}, 4, 20, SAMPLES_IN_EVAL)
        hook.statistics = tf.global_variables()
        return mox.ModelSpec(loss=loss, hooks=[hook])

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", 0.1),
        run_mode="TRAIN",
        inter_mode="EVAL",
        batch_size=4,
        max_number_of_steps=10,
    )
    assert len(seen) == 4
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert seen[1] != seen[2]


def test_the_time_of_evaluations_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tensorflow"):
        run(tmp_path, evaluates=True, steps=10)
    (line,) = (m for m in caplog.messages if "evaluations took" in m)
    assert line.startswith("[VALIDATION METRICS] 2 evaluations took 0.")
    assert line.endswith(" s")
