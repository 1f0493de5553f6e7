"""Damaged checkpoints of Estimators are named, the newest whole one is used, and all files stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from damages import DAMAGES, Damage, skipped

import moxing.estimator as tfe
from moxing.errors import MoxRuntimeError

Said = Callable[[str], list[str]]


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """A weight that counts the steps."""
    del labels
    weight = tf.get_variable("w", initializer=0.0)
    if mode == tfe.ModeKeys.PREDICT:
        return tfe.EstimatorSpec(mode, predictions={"w": weight + 0.0 * features[:, 0]})
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    return tfe.EstimatorSpec(
        mode,
        loss=-weight,
        train_op=optimizer.minimize(-weight, tf.train.get_global_step()),
    )


def read() -> Any:
    return tf.data.Dataset.from_tensors(([[0.0]], [0])).repeat()


def made(folder: Path) -> tfe.Estimator:
    config = tfe.RunConfig(save_checkpoints_steps=10, tf_random_seed=1)
    return tfe.Estimator(model_fn, str(folder), config)


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with the checkpoints of steps 0, 10 and 20."""
    made(tmp_path).train(read, max_steps=20)
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_training_goes_on_from_the_newest_whole_one(
    damage: Damage, trained: Path, said: Said
) -> None:
    damage.make(trained / "model.ckpt-20")
    before = set(trained.iterdir())
    start = len(said(""))
    estimator = made(trained)
    if damage.in_the_way:
        with pytest.raises(MoxRuntimeError, match="is a directory, where checkpoints have a file"):
            estimator.train(read, max_steps=30)
        assert set(trained.iterdir()) == before
        return
    estimator.train(read, max_steps=30)
    assert skipped(said("")[start:], damage)
    assert before <= set(trained.iterdir())
    assert float(estimator.get_variable_value("w")) == 30.0


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_evaluation_and_prediction_use_the_newest_whole_one(
    damage: Damage, trained: Path, said: Said
) -> None:
    damage.make(trained / "model.ckpt-20")
    before = set(trained.iterdir())
    step = 10 if damage.costs else 20
    estimator = made(trained)
    for use in (
        lambda: estimator.evaluate(read, steps=1)["global_step"],
        lambda: int(next(estimator.predict(read))["w"]),
        lambda: int(str(estimator.latest_checkpoint()).rpartition("-")[2]),
    ):
        start = len(said(""))
        assert use() == step
        assert skipped(said("")[start:], damage)
    assert before <= set(trained.iterdir())
