"""Keras inside of model_fn (section 4.6 of MoXing's manual): layers, JSON, names and batch norm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

tf_keras = pytest.importorskip("tf_keras")
Run = Callable[..., Any]


def variables(directory: Path) -> dict[str, np.ndarray]:
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(directory)))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def network(x: Any, training: bool = False) -> Any:
    x = tf_keras.layers.Dense(4, activation="relu", name="hidden")(x)
    x = tf_keras.layers.BatchNormalization(name="norm", momentum=0.5)(x, training=training)
    return tf_keras.layers.Dense(2, name="logits")(x)


def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
    features, labels = inputs
    logits = network(features, mode == "TRAIN")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    hook = mox.LogEvaluationMetricHook({"loss": loss}, 4, 4, 4)
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])


def test_layers_have_their_names_and_are_shared_with_evaluation(run: Run, tmp_path: Path) -> None:
    run(model_fn=model_fn, inter_mode="EVAL", log_dir=tmp_path)
    names = set(variables(tmp_path))
    assert {"hidden/kernel", "norm/gamma", "norm/moving_mean", "logits/bias"} <= names
    assert not any("_1" in name for name in names), names


def test_statistics_of_keras_batch_norm_move(run: Run, tmp_path: Path) -> None:
    run(model_fn=model_fn, inter_mode="EVAL", log_dir=tmp_path)
    assert np.any(variables(tmp_path)["norm/moving_mean"] != 0.0)


def test_a_model_goes_through_json_into_model_fn(run: Run, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        given = tf_keras.layers.Input(shape=(3,))
        text = tf_keras.models.Model(given, network(given)).to_json()

    def from_json(inputs: Any, mode: str) -> mox.ModelSpec:
        features, labels = inputs
        logits = tf_keras.models.model_from_json(text)(features)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    mox.set_flag("seed", 1)
    run(model_fn=from_json, log_dir=tmp_path, max_number_of_steps=1)
    first = variables(tmp_path)
    run(model_fn=from_json, log_dir=tmp_path, max_number_of_steps=300)
    assert {"hidden/kernel", "logits/bias"} <= set(first)
    assert np.any(variables(tmp_path)["hidden/kernel"] != first["hidden/kernel"])
    assert run(model_fn=from_json, log_dir=tmp_path, run_mode="EVAL").metrics["loss"] < 0.7


def test_layers_without_names_are_shared_in_their_order(run: Run, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        features, labels = inputs
        layers = [tf_keras.layers.Dense(3), tf_keras.layers.Dense(3), tf_keras.layers.Dense(2)]
        logits = features
        for layer in layers:
            logits = layer(logits)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        seen.append([layer.kernel.name for layer in layers])
        plain = tf.Variable(1.0, name="plain")
        hook = mox.LogEvaluationMetricHook({"loss": loss}, 4, 4, 4)
        return mox.ModelSpec(loss=loss * plain, log_info={"loss": loss}, hooks=[hook])

    run(model_fn=model_fn, inter_mode="EVAL", log_dir=tmp_path)
    trained, evaluated = seen
    assert trained == evaluated
    assert len(set(trained)) == 3
