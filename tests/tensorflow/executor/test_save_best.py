"""The best checkpoint by a metric of evaluation during training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import MoxKeyError, MoxTypeError, MoxValueError

Said = Callable[[str], list[str]]


def model_fn_with(series: list[float], hook: Callable[[Any], Any]) -> Callable[..., mox.ModelSpec]:
    """A weight that counts the steps, and a metric that goes through `series` as it does."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", initializer=0.0)
        position = tf.maximum(tf.cast(weight, tf.int32) - 1, 0)
        value = tf.gather(tf.constant(series), position)
        hooks = [hook({"accuracy": value, "loss": -value})]
        return mox.ModelSpec(loss=-weight, log_info={"accuracy": value, "w": weight}, hooks=hooks)

    return model_fn


def log_best(metric: Any = "accuracy") -> Callable[[Any], Any]:
    return lambda info: mox.LogEvaluationMetricHook(info, 1, 1, 1, save_best=metric)


def train(series: list[float], steps: int, hook: Any, log_dir: Any) -> None:
    mox.run(
        input_fn=lambda mode: tf.constant([0.0]),
        model_fn=model_fn_with(series, hook),
        optimizer_fn=mox.get_optimizer_fn("sgd", 1.0),
        run_mode="TRAIN",
        inter_mode="EVAL",
        log_dir=log_dir,
        max_number_of_steps=steps,
    )


def weight_of(directory: Path) -> float:
    path = tf.train.latest_checkpoint(str(directory))
    return float(tf.train.load_checkpoint(path).get_tensor("w"))


def test_the_best_is_kept_and_the_newest_too(tmp_path: Path, said: Said) -> None:
    train([0.1, 0.9, 0.5, 0.9, 0.4], 5, log_best(), tmp_path)
    assert weight_of(tmp_path / "best") == 2.0
    assert weight_of(tmp_path) == 5.0
    found = newest(tmp_path / "best")
    assert found is not None
    assert found.step == 2
    best = read_extra(found)["best"]
    assert best == {"metric": "accuracy", "value": pytest.approx(0.9)}
    assert said("[VALIDATION METRICS] the best") == [
        f"[VALIDATION METRICS] the best accuracy, 0.900 at global step 2, is in {tmp_path}/best"
    ]
    names = [path.name for path in (tmp_path / "best").iterdir()]
    assert [name for name in names if name.endswith(".index")] == ["model.ckpt-2.index"]


def test_a_loss_is_to_fall(tmp_path: Path) -> None:
    train([0.1, 0.9, 0.5], 3, log_best("loss"), tmp_path)
    assert weight_of(tmp_path / "best") == 2.0


def test_a_resumed_run_knows_the_best_so_far(tmp_path: Path) -> None:
    series = [0.1, 0.9, 0.5, 0.6, 0.95, 0.2]
    train(series, 3, log_best(), tmp_path)
    train(series, 4, log_best(), tmp_path)
    assert weight_of(tmp_path / "best") == 2.0
    train(series, 6, log_best(), tmp_path)
    assert weight_of(tmp_path / "best") == 5.0


def test_evaluation_from_the_best(tmp_path: Path) -> None:
    train([0.1, 0.9, 0.5], 3, log_best(), tmp_path)
    result = mox.run(
        input_fn=lambda mode: tf.constant([0.0]),
        model_fn=lambda inputs, mode: mox.ModelSpec(
            log_info={"w": tf.get_variable("w", initializer=0.0)}
        ),
        run_mode="EVAL",
        checkpoint_path=tmp_path / "best",
        max_number_of_steps=1,
    )
    assert result.metrics == {"w": 2.0}
    assert result.global_step == 2


@pytest.mark.parametrize("stop", [mox.EarlyStoppingHook, mox.PlateauLREarlyStoppingHook])
def test_hooks_that_monitor_keep_what_they_monitor(stop: Any, tmp_path: Path) -> None:
    train(
        [0.1, 0.9, 0.5, 0.6],
        4,
        lambda info: stop(info, "accuracy", 1, 1, 1, patience=9, save_best=True),
        tmp_path,
    )
    assert weight_of(tmp_path / "best") == 2.0


def test_another_metric_takes_the_place_with_a_warning(tmp_path: Path, said: Said) -> None:
    train([0.1, 0.9, 0.5, 0.2], 3, log_best(), tmp_path)
    train([0.1, 0.9, 0.5, 0.2], 4, log_best("loss"), tmp_path)
    assert weight_of(tmp_path / "best") == 4.0
    assert said("keeps the best by loss") == [
        f"{tmp_path}/best/model.ckpt-2 is the best by accuracy, and this run keeps the best by"
        " loss: the checkpoint of its first evaluation replaces it."
    ]


def test_what_is_not_a_number_is_never_the_best(tmp_path: Path) -> None:
    train([0.1, float("nan"), float("inf")], 3, log_best(), tmp_path)
    assert weight_of(tmp_path / "best") == 1.0


def test_without_a_directory_there_is_no_best() -> None:
    with pytest.raises(MoxValueError) as caught:
        train([0.1], 1, log_best(), None)
    assert str(caught.value) == (
        "LogEvaluationMetricHook: save_best='accuracy' needs a directory to save into: pass log_dir"
        " to mox.run."
    )


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    train([0.1], 1, log_best(False), tmp_path)
    assert not (tmp_path / "best").exists()


def test_a_metric_that_is_not_there() -> None:
    with tf.Graph().as_default():
        info = {"accuracy": tf.constant(1.0), "loss": tf.constant(1.0)}
        with pytest.raises(MoxKeyError) as unknown:
            log_best("accuracies")(info)
        with pytest.raises(MoxTypeError) as several:
            log_best(True)(info)
    assert str(unknown.value) == (
        "LogEvaluationMetricHook: save_best='accuracies' is not in monitor_info, which has"
        " accuracy, loss. Did you mean 'accuracy'?"
    )
    assert str(several.value) == (
        "LogEvaluationMetricHook: save_best is True; give the name of a metric in monitor_info,"
        " which has accuracy, loss."
    )
