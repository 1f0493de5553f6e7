"""The exact text of every log line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from moxing.engine.wording import report


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.4512, "3.451"),
        (0, "0.000"),
        (-0.25, "-0.250"),
        (0.001, "0.001"),
        (np.float32(0.001), "0.001"),
        (0.0009996, "9.996e-04"),
        (4.321e-05, "4.321e-05"),
        (-1.5e-7, "-1.500e-07"),
        (5e-324, "4.941e-324"),
        (99017.656, "99017.656"),
        (1e15, "1000000000000000.000"),
        (3.4028234e38, "3.403e+38"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (np.int64(7), "7.000"),
        (np.array(0.5, np.float16), "0.500"),
        (True, "1.000"),
    ],
)
def test_numbers(value: Any, text: str) -> None:
    assert report.number(value) == text


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            (10, 10, 42.087, {"loss": 3.451, "accuracy": 0.312}),
            "step: 10(global step: 10)\tsample/sec: 42.087\tloss: 3.451\taccuracy: 0.312",
        ),
        (
            (0, 200, 21331.4894, {"z": 1, "a": 2e-5}),
            "step: 0(global step: 200)\tsample/sec: 21331.489\tz: 1.000\ta: 2.000e-05",
        ),
        ((7, 9, None, {"loss": math.nan}), "step: 7(global step: 9)\tloss: nan"),
        ((7, 9, None, {}), "step: 7(global step: 9)"),
        ((7, 9, 0.0, {}), "step: 7(global step: 9)\tsample/sec: 0.000"),
    ],
)
def test_step_lines(arguments: Any, line: str) -> None:
    assert report.step_line(*arguments) == line


def test_eval_lines_end_in_the_number_of_examples() -> None:
    values = {"loss": 0.3124, "accuracy": 0.90625}
    assert report.eval_line(64, values) == "loss: 0.312\taccuracy: 0.906\t[64 examples]"
    assert report.eval_line(1, {}) == "\t[1 examples]"


def test_hook_lines_have_spaces() -> None:
    values = {"loss": 17737.2271, "accuracy": 0}
    assert report.hook_line("[VALIDATION METRICS]", 31, values) == (
        "[VALIDATION METRICS] step: 31 loss: 17737.227 accuracy: 0.000"
    )


def test_short_lines() -> None:
    assert report.running_will_end(1000) == "Running will end at step: 1000"
    assert report.global_step_per_second(571.2321) == "global_step/sec: 571.232"
    assert report.global_step_per_second(0.0123456) == "global_step/sec: 0.0123456"
    assert report.saving_checkpoint(0, "logs/model.ckpt") == (
        "Saving checkpoints for 0 into logs/model.ckpt."
    )
    assert report.ignoring_checkpoint_path("logs") == (
        "Ignoring --checkpoint_path because a checkpoint already exists in logs"
    )
    assert report.already_reached("logs", 2750, 2750) == (
        "checkpoint in logs is already at step 2750 >= max_number_of_steps 2750;"
        " nothing to train: raise it or use another log_dir"
    )
    assert report.input_already_ended("logs", 64) == (
        "checkpoint in logs is already at step 64, where its input ended; nothing to train: give"
        " more data with another max_number_of_steps, or use another log_dir"
    )


@pytest.mark.parametrize(
    ("batches", "samples", "seen"),
    [
        (79, 10000, "10000 samples in 79 batches"),
        (1, 1, "1 sample in 1 batch"),
        (3, None, "3 batches"),
        (0, 0, "0 samples in 0 batches"),
    ],
)
def test_evaluation_summaries(batches: int, samples: int | None, seen: str) -> None:
    means = {"loss": 0.31234, "accuracy": 0.9}
    line = report.evaluation_summary(
        global_step=1000, batches=batches, samples=samples, seconds=83.2, means=means
    )
    assert line == (
        f"Evaluated {seen} at global step 1000 in 1 min 23 s, mean over all:"
        "\tloss: 0.312\taccuracy: 0.900"
    )


def test_first_steps() -> None:
    assert report.first_step(35.2, None, False) == (
        "The first step took 35 s, in which TensorFlow planned and compiled it."
    )
    assert report.first_step(35.2, 0.9, False) == report.first_step(35.2, None, False)
    assert report.first_step(35.2, 12.0, False).endswith("it and waited 12 s for the first batch.")


def test_first_steps_that_wait_for_other_processes_say_so() -> None:
    assert report.first_step(35.2, None, True) == (
        "The first step took 35 s, in which TensorFlow planned and compiled it, and waited for the"
        " first steps of the other processes."
    )
    assert report.first_step(35.2, 12.0, True).endswith(
        "waited 12 s for the first batch, and waited for the first steps of the other processes."
    )


def test_training_summaries() -> None:
    everything = report.training_summary(
        200,
        1000,
        report.Pace(7500, 1505.4, 0.034),
        report.Places("logs/model.ckpt-1000", "logs", "logs/model"),
    )
    assert everything == (
        "Trained 800 steps, from global step 200 to 1000, in 2 h 05 min: 1,505 samples/s, 3% of the"
        " time waiting for data. Checkpoint: logs/model.ckpt-1000. Summaries: logs."
        " Exported model: logs/model."
    )
    assert report.training_summary(0, 1, report.Pace(0.4212), report.Places()) == (
        "Trained 1 step, from global step 0 to 1, in 0.42 s. No log_dir was given, so nothing was"
        " saved."
    )
    of_another = report.training_summary(0, 1, report.Pace(0.5), report.Places(by_chief=True))
    assert of_another == (
        "Trained 1 step, from global step 0 to 1, in 0.50 s. Worker 0 saves for all."
    )
    assert "in 2.0 s: <1% of the time waiting for data." in report.training_summary(
        0, 5, report.Pace(2, data_wait=0.001), report.Places()
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 s"),
        (0.994, "0.99 s"),
        (0.996, "1.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (83, "1 min 23 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (86399, "1 d 00 h"),
        (86000, "23 h 53 min"),
        (273600, "3 d 04 h"),
        (math.inf, "an unknown time"),
        (math.nan, "an unknown time"),
        (-1, "an unknown time"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (85993.4, "85,993"),
        (99.96, "100"),
        (99.94, "99.9"),
        (42.087, "42.1"),
        (1, "1.0"),
        (0.01234, "0.0123"),
        (0, "0"),
        (math.inf, "inf"),
    ],
)
def test_rates(per_second: float, text: str) -> None:
    assert report.rate(per_second) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (0.0099, "<1%"), (0.01, "1%"), (0.5, "50%"), (1, "100%")]
)
def test_percents(share: float, text: str) -> None:
    assert report.percent(share) == text


def test_the_last_words_of_a_stopped_run() -> None:
    assert report.stopped("SIGTERM", 7, "logs/model.ckpt-7") == (
        "Stopped by SIGTERM at step 7, which is saved: logs/model.ckpt-7. The same command goes on"
        " from there."
    )
    assert report.stopped("SIGINT", 7, None) == (
        "Stopped by SIGINT at step 7; no log_dir was given, so nothing was saved."
    )
    assert report.stopped("SIGINT", 7, None, by_chief=True) == (
        "Stopped by SIGINT at step 7, which worker 0 saves."
    )


def test_the_last_words_of_a_prediction() -> None:
    said = report.prediction_summary(global_step=5, batches=6, samples=300, seconds=0.5)
    assert said == "Predicted 300 samples in 6 batches at global step 5 in 0.50 s"
    said = report.prediction_summary(global_step=5, batches=1, samples=0, seconds=0.5)
    assert said == "Predicted 1 batch at global step 5 in 0.50 s"


@pytest.mark.parametrize(
    ("count", "text"),
    [((1, True), "1 step"), ((7, True), "7 steps"), ((250, False), "at least 250 steps")],
)
def test_what_ends_with_the_data_of_another(count: tuple[int, bool], text: str) -> None:
    assert report.dropped("worker 1", 20, count) == (
        "The data of worker 1 ended after 20 steps, so training ends for all. Dropped here: data of"
        f" {text}. Give every worker as much data, or repeat it (Dataset.repeat) and limit"
        " max_number_of_steps."
    )
