"""The best checkpoints of Estimators, by the metrics of their evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import MoxValueError
from moxing.framework import file

Said = Callable[[str], list[str]]
# The score after 10, 20, ... steps.
SERIES = [0.3, 0.9, 0.5, 0.95, 0.2]


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """A weight that counts the steps, and a score that goes through `SERIES`."""
    del labels
    weight = tf.get_variable("w", initializer=0.0)
    at = tf.maximum(tf.cast(weight, tf.int32) // 10 - 1, 0)
    score = tf.gather(tf.constant(SERIES), at)
    if mode == tfe.ModeKeys.PREDICT:
        return tfe.EstimatorSpec(mode, predictions={"w": weight + 0.0 * features[:, 0]})
    training = mode == tfe.ModeKeys.TRAIN
    loss = -weight if training else -score
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    return tfe.EstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, tf.train.get_global_step()) if training else None,
        eval_metric_ops={} if training else {"score": tf.metrics.mean(score)},
    )


def read() -> Any:
    return tf.data.Dataset.from_tensors(([[0.0]], [0])).repeat()


def estimator(folder: Any, **config: Any) -> tfe.Estimator:
    return tfe.Estimator(model_fn, folder, tfe.RunConfig(save_checkpoints_steps=10, **config))


def train(made: tfe.Estimator, steps: int, name: str | None = None) -> None:
    tfe.train_and_evaluate(
        made,
        tfe.TrainSpec(read, steps),
        tfe.EvalSpec(read, steps=1, throttle_secs=0, name=name),
    )


def best_in(folder: Any) -> tuple[int | None, Any]:
    found = newest(Path(folder) / "best")
    assert found is not None
    return found.step, read_extra(found)["best"]


def kept_in(folder: Any) -> list[int]:
    return sorted(int(p.stem.rpartition("-")[2]) for p in Path(folder, "best").glob("*.index"))


def test_the_best_of_train_and_evaluate_by_the_option_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    monkeypatch.setenv("MOX_KEEP_BEST", "score:max")
    made = estimator(tmp_path)
    train(made, 30)
    assert best_in(tmp_path) == (20, {"metric": "score", "value": pytest.approx(0.9)})
    train(estimator(tmp_path), 50)  # The last evaluation is after the training, and not the best.
    assert best_in(tmp_path)[0] == 40
    assert kept_in(tmp_path) == [40]
    assert said("The best score")[-1] == (
        f"The best score, 0.950 at global step 40, is in {tmp_path}/best"
    )
    # It is a checkpoint like any other.
    values = made.evaluate(read, 1, checkpoint_path=str(tmp_path / "best" / "model.ckpt-40"))
    assert values["score"] == pytest.approx(0.95)
    assert kept_in(tmp_path) == [40]
    assert float(tf.train.load_variable(str(tmp_path / "best"), "w")) == 40.0


def test_several_by_the_run_config(tmp_path: Path) -> None:
    train(estimator(tmp_path, keep_best="score:max:2", keep_checkpoint_max=1), 50)
    assert kept_in(tmp_path) == [20, 40]
    assert best_in(tmp_path)[0] == 40


def test_evaluations_that_the_program_calls(tmp_path: Path) -> None:
    made = estimator(tmp_path, keep_best="loss")
    for _ in range(3):
        made.train(read, steps=10)
        made.evaluate(read, steps=1)
    assert best_in(tmp_path)[0] == 20


def test_a_named_evaluation_names_its_metrics(tmp_path: Path, said: Said) -> None:
    train(estimator(tmp_path / "a", keep_best="score:max"), 20, name="test")
    (line,) = said("which this evaluation does not have")
    assert "RunConfig's keep_best names the metric 'score'" in line
    assert "test/score" in line
    assert not (tmp_path / "a" / "best").exists() or not kept_in(tmp_path / "a")
    train(estimator(tmp_path / "b", keep_best="test/score:max"), 20, name="test")
    assert kept_in(tmp_path / "b") == [20]


def test_another_models_checkpoint_is_not_kept(tmp_path: Path) -> None:
    estimator(tmp_path / "other").train(read, steps=20)
    made = estimator(tmp_path / "own", keep_best="score:max")
    made.evaluate(read, 1, checkpoint_path=str(tmp_path / "other" / "model.ckpt-20"))
    assert not (tmp_path / "own" / "best").exists()


def test_settings_that_can_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MoxValueError, match="RunConfig's keep_best is 'score:0'"):
        tfe.RunConfig(keep_best="score:0")
    assert tfe.RunConfig(keep_best="score").replace(save_summary_steps=7).keep_best == "score"
    monkeypatch.setenv("MOX_KEEP_BEST", ":min")
    with pytest.raises(MoxValueError, match=r"MOX_KEEP_BEST \(mox run --keep-best\) is ':min'"):
        estimator(tmp_path).train(read, steps=1)


@pytest.mark.usefixtures("clean_settings")
def test_the_best_in_a_store(
    folder_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the training it is mirrored; an evaluation outside of one uploads it."""
    (tmp_path / "local").mkdir()
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "local"))
    url = f"{folder_bucket}/model"

    def kept() -> list[str]:
        names = file.list_directory(f"{url}/best")
        return sorted(name for name in names if name.endswith((".index", ".manifest.json")))

    made = estimator(url, keep_best="score:max")
    train(made, 20)
    assert kept() == ["model.ckpt-20.index", "model.ckpt-20.manifest.json"]
    made.train(read, steps=20)
    made.evaluate(read, steps=1)
    assert kept() == ["model.ckpt-40.index", "model.ckpt-40.manifest.json"]
    assert 'model_checkpoint_path: "model.ckpt-40"' in file.read(f"{url}/best/checkpoint")
    made.evaluate(read, 1, checkpoint_path=f"{url}/best/model.ckpt-40")
    made.train(read, steps=10)
    made.evaluate(read, steps=1)
    assert kept() == ["model.ckpt-40.index", "model.ckpt-40.manifest.json"]
