"""Flags say what a run records of itself."""

from __future__ import annotations

import glob
import json
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing import flags
from moxing.errors import MoxValueError
from moxing.flags.recording import profile_steps


def _input_fn(mode: str) -> tf.Tensor:
    return tf.random.uniform([28, 28, 1], seed=1)


def _model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
    images = inputs[0]
    tf.summary.image("seen", images, max_outputs=1)
    weights = tf.get_variable("w", [784, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.reshape(images, [-1, 784]), weights)))
    hook = mox.LogEvaluationMetricHook({"loss": loss}, 2, samples_in_train=6, samples_in_eval=4)
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])


def _train(log_dir: Path) -> None:
    mox.run(
        input_fn=_input_fn,
        model_fn=_model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.01),
        run_mode=mox.ModeKeys.TRAIN,
        inter_mode=mox.ModeKeys.EVAL,
        batch_size=2,
        log_dir=log_dir,
        max_number_of_steps=6,
        log_every_n_steps=2,
        save_summary_steps=3,
    )


def _tags(log_dir: Path) -> dict[str, list[int]]:
    tags: dict[str, list[int]] = {}
    for path in glob.glob(f"{log_dir}/events*"):
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                tags.setdefault(value.tag, []).append(event.step)
    return tags


@pytest.mark.parametrize(
    ("verbosity", "automatic"),
    [
        (0, {"loss": [0, 2, 4]}),
        (1, {"loss": [0, 2, 3, 4]}),
        (2, {"loss": [0, 2, 3, 4], "w": [0, 3]}),
    ],
)
def test_verbosity_says_which_summaries_there_are(
    tmp_path: Path, verbosity: int, automatic: dict[str, list[int]]
) -> None:
    mox.set_flag("summary_verbosity", verbosity)
    _train(tmp_path)
    assert _tags(tmp_path) == {
        "seen/image": [0, 3],
        "job": [0],
        "global_step/sec": [3, 6],
        "validation_metrics/loss": [3, 6],
        "learning_rate": [0, 2, 4],
        "sample/sec": [2, 4],
        **automatic,
    }


def test_a_run_with_evaluations_is_recorded(tmp_path: Path) -> None:
    mox.set_flag("seed", 3)
    _train(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").open()]
    assert [(line["kind"], line["global_step"]) for line in lines] == [
        ("train", 0),
        ("validation", 3),
        ("train", 2),
        ("train", 4),
        ("validation", 6),
    ]
    assert lines[1]["name"] == "[VALIDATION METRICS]"
    assert lines[1]["samples"] == 4
    assert set(lines[2]) >= {"time", "steps_per_second", "samples_per_second", "values"}
    assert "steps_per_second" not in lines[0]
    told = json.loads((tmp_path / "run.json").read_text())
    assert told["flags"]["--seed"] == 3
    assert told["outcome"]["end"] == "finished"


def test_profile_steps_are_a_slice() -> None:
    assert profile_steps("20:30", "out") == (20, 30)
    assert profile_steps(" 0 : 1 ", "out") == (0, 1)
    assert profile_steps(None, None) is None
    assert profile_steps("", None) is None


@pytest.mark.parametrize("text", ["20", "30:20", "5:5", "-1:5", "a:b", "1:2:3", ":", "5:"])
def test_what_names_no_steps_is_refused(text: str) -> None:
    with pytest.raises(MoxValueError) as raised:
        profile_steps(text, "out")
    assert str(raised.value) == (
        f"--profile_steps={text}: it must be N:M with N below M, such as 20:30 for ten steps."
    )


def test_a_profile_needs_a_directory() -> None:
    with pytest.raises(MoxValueError) as raised:
        profile_steps("1:2", None)
    assert str(raised.value) == (
        "--profile_steps is given, but there is no log_dir to write the profile to: pass log_dir."
    )


def test_flags_at_their_defaults_are_not_told() -> None:
    from moxing.flags.recording import settings

    mox.set_flag("loss_scale", 1.0)
    before = settings()
    mox.set_flag("loss_scale", 8.0)
    assert settings() == {**before, "--loss_scale": 8.0}
    assert set(settings()) <= {f"--{name}" for name in flags.FLAG_NAMES}
