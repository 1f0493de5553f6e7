"""`--dry_run` of Estimators: a step of everything, in a scratch folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing import flags
from moxing.errors import MoxNotSupportedError

Said = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def dry() -> Iterator[None]:
    with flags.overridden(dry_run=True):
        yield


def _receiver() -> tfe.export.ServingInputReceiver:
    x = tf.placeholder(tf.float32, [None, 5], "x")
    return tfe.export.ServingInputReceiver({"x": x}, {"x": x})


def test_training_evaluation_prediction_and_export_leave_nothing(
    estimator: tfe.Estimator, read: Callable[..., Any], said: Said, tmp_path: Path
) -> None:
    estimator.train(read(), max_steps=1000)
    values = estimator.evaluate(read(30, 1, False))
    assert values["global_step"] == 2
    assert len(list(estimator.predict(read(20, 1, False)))) == 20
    export = estimator.export_saved_model(str(tmp_path / "out"), _receiver)
    assert os.path.isfile(os.path.join(export.decode(), "saved_model.pb"))
    assert os.listdir(tmp_path) == []
    told = said("Dry run of")
    assert told == [
        "Dry run of TRAIN passed: trained one step, saved, restored, trained one more step."
        f" Nothing was written to {tmp_path}/model.",
        f"Dry run of EVAL passed: one batch. Nothing was written to {tmp_path}/model.",
        "Dry run of PREDICT passed: one batch.",
    ]
    inputs = said("a batch of each device")
    assert inputs[0].endswith("in TRAIN has input 0 x float32 (50, 5), input 1 int64 (50,).")
    assert inputs[1].endswith("in EVAL has input 0 x float32 (30, 5), input 1 int64 (30,).")
    assert "10 numbers in 1 trainable variables, 40 bytes" in said("numbers in")[0]


def test_train_and_evaluate_exports_too(
    estimator: tfe.Estimator, read: Callable[..., Any], said: Said, tmp_path: Path
) -> None:
    values, exports = tfe.train_and_evaluate(
        estimator,
        tfe.TrainSpec(read(), max_steps=500),
        tfe.EvalSpec(read(60, 1, False), exporters=[tfe.FinalExporter("last", _receiver)]),
    )
    assert values["global_step"] == 2
    assert os.path.isfile(os.path.join(os.fsdecode(exports[0]), "saved_model.pb"))
    assert os.listdir(tmp_path) == []
    assert len(said("Dry run of TRAIN passed")) == 1


def test_an_evaluation_alone_reads_the_real_checkpoint_and_leaves_it(
    model_fn: Callable[..., Any], read: Callable[..., Any], tmp_path: Path
) -> None:
    folder = str(tmp_path / "model")
    with flags.overridden(dry_run=False):
        tfe.Estimator(model_fn, folder).train(read(), steps=3)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "model").iterdir()}
    estimator = tfe.Estimator(model_fn, folder)
    assert estimator.evaluate(read(30, 1, False))["global_step"] == 3
    named = os.path.join(folder, "model.ckpt-3")
    assert estimator.evaluate(read(30, 1, False), checkpoint_path=named)["global_step"] == 3
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "model").iterdir()}
    assert after == before


def test_a_training_starts_anew_and_a_named_checkpoint_is_that_of_the_dry_training(
    model_fn: Callable[..., Any], read: Callable[..., Any], tmp_path: Path
) -> None:
    folder = str(tmp_path / "model")
    with flags.overridden(dry_run=False):
        tfe.Estimator(model_fn, folder).train(read(), steps=3)
    estimator = tfe.Estimator(model_fn, folder)
    estimator.train(read(), steps=100)
    named = os.path.join(folder, "model.ckpt-3")
    assert estimator.evaluate(read(30, 1, False), checkpoint_path=named)["global_step"] == 2


def test_a_part_that_fails_is_an_error(read: Callable[..., Any], tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.reduce_sum(tf.get_variable("w", [])) * np.float32(1)
        if mode == tfe.ModeKeys.EVAL:
            raise RuntimeError("no metrics yet")
        step = tf.train.get_global_step()
        op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return tfe.EstimatorSpec(mode, loss=loss, train_op=op)

    estimator = tfe.Estimator(model_fn, str(tmp_path / "model"))
    estimator.train(read(), steps=9)
    with pytest.raises(RuntimeError, match="no metrics yet"):
        estimator.evaluate(read(30, 1, False))
    assert os.listdir(tmp_path) == []


def test_a_cluster_is_refused(
    estimator: tfe.Estimator, read: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", cluster)
    with pytest.raises(MoxNotSupportedError, match="--dry_run is for one process"):
        estimator.train(read(), max_steps=9)
