"""Loaded models as functions of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import CheckpointError, MoxValueError
from moxing.estimator import predictor


def receiver_fn() -> Any:
    fed = {"x": tf.placeholder(tf.float32, [None, 5])}
    return tfe.export.ServingInputReceiver(fed, fed)


def test_both_ways_give_what_the_estimator_predicts(
    estimator: tfe.Estimator, read: Any, problem: Any, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match="Train first"):
        predictor.from_estimator(estimator, receiver_fn)
    estimator.train(read(), max_steps=5)
    wanted = np.stack([one["logits"] for one in estimator.predict(read(50, 1, shuffle=False))])
    folder = estimator.export_saved_model(tmp_path / "export", receiver_fn)
    for made in (
        predictor.from_estimator(estimator, receiver_fn),
        predictor.from_saved_model(folder),
        predictor.from_saved_model(
            folder.decode(), signature_def_key="serving_default", tags="serve"
        ),
    ):
        given = made({"x": problem.x})
        assert set(given) == {"class", "logits"}
        np.testing.assert_allclose(given["logits"], wanted, atol=1e-6)
        with pytest.raises(MoxValueError, match="no input 'y'; it has x"):
            made({"y": problem.x})
        made.session.close()


def test_names_instead_of_a_signature(
    estimator: tfe.Estimator, read: Any, problem: Any, tmp_path: Path
) -> None:
    estimator.train(read(), max_steps=1)
    folder = estimator.export_saved_model(tmp_path / "export", receiver_fn).decode()
    made = predictor.from_saved_model(
        folder, input_names={"points": "Placeholder:0"}, output_names={"scores": "MatMul:0"}
    )
    assert made({"points": problem.x[:3]})["scores"].shape == (3, 2)
    with pytest.raises(MoxValueError, match="has no signature 'predct'"):
        predictor.from_saved_model(folder, "predct")
    with pytest.raises(MoxValueError, match="is no SavedModel's directory"):
        predictor.from_saved_model(str(tmp_path))


def test_the_scaffold_of_the_model_gives_values_in_both_ways(read: Any, tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
        weights = tf.get_variable("w", [5, 1])
        shift = tf.get_variable(
            "shift",
            [],
            collections=[tf.GraphKeys.LOCAL_VARIABLES],
            initializer=tf.zeros_initializer(),
        )
        scaffold = tf.train.Scaffold(local_init_op=shift.assign(100.0).op)
        scores = 0.0 * tf.matmul(features["x"], weights) + shift
        if mode == tfe.ModeKeys.PREDICT:
            return tfe.EstimatorSpec(mode, predictions={"scores": scores}, scaffold=scaffold)
        loss = tf.reduce_mean(tf.square(tf.matmul(features["x"], weights)))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tfe.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tfe.Estimator(model_fn, str(tmp_path / "model")).train(read(), max_steps=1)
    folder = estimator.export_saved_model(tmp_path / "export", receiver_fn)
    given = {"x": np.ones([2, 5], np.float32)}
    for made in (
        predictor.from_saved_model(folder),
        predictor.from_estimator(estimator, receiver_fn),
    ):
        assert made(given)["scores"].tolist() == [[100.0], [100.0]]
        made.session.close()
