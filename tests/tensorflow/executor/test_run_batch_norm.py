"""Batch norm of every layer library: what is evaluated is what was trained."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

import moxing.tensorflow as mox

Run = Callable[..., Any]


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Two classes far from 0 and of unlike scales: without moving statistics nothing is right."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 2, 256)
    features = random.normal(size=[256, 4]) + 3.0 * labels[:, None]
    return (50.0 + features * [1.0, 5.0, 0.1, 2.0]).astype(np.float32), labels.astype(np.int32)


def input_fn(mode: str) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices(samples()).batch(64)
    return tf.data.make_one_shot_iterator(dataset.repeat(50 if mode == "TRAIN" else 1)).get_next()


def v1_layers(features: tf.Tensor, training: bool) -> tf.Tensor:
    normalized = tf.layers.batch_normalization(features, training=training, momentum=0.9)
    return tf.layers.dense(normalized, 2)


def keras_layers(features: tf.Tensor, training: bool) -> tf.Tensor:
    layer = tf.keras.layers.BatchNormalization(momentum=0.9)
    return tf.keras.layers.Dense(2)(layer(features, training=training))


def keras_model(features: tf.Tensor, training: bool) -> tf.Tensor:
    model = tf.keras.Sequential(
        [tf.keras.layers.BatchNormalization(momentum=0.9), tf.keras.layers.Dense(2)]
    )
    return model(features, training=training)


@pytest.mark.filterwarnings("ignore:`tf.layers:UserWarning")
@pytest.mark.parametrize("network", [v1_layers, keras_layers, keras_model])
def test_evaluation_is_as_good_as_training(network: Any, run: Run, tmp_path: Path) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        features, labels = inputs
        logits = network(features, mode == mox.ModeKeys.TRAIN)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        hits = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
        accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss, "accuracy": accuracy})

    arguments = {"input_fn": input_fn, "model_fn": model_fn, "log_dir": tmp_path}
    trained = run(
        **arguments,
        optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.05),
        max_number_of_steps=150,
        log_every_n_steps=149,
    ).metrics
    evaluated = run(**arguments, run_mode="EVAL", max_number_of_steps=100).metrics
    assert trained["accuracy"] > 0.95
    assert evaluated["accuracy"] > 0.95
    assert evaluated["loss"] == pytest.approx(trained["loss"], abs=0.1)


PROGRAM = """
import numpy as np
import tensorflow{v1} as tf
{prepare}
import moxing.tensorflow as mox

random = np.random.default_rng(3)
labels = random.integers(0, 2, 256)
features = random.normal(size=[256, 4]) + 3.0 * labels[:, None]
features = (50.0 + features * [1.0, 5.0, 0.1, 2.0]).astype(np.float32)

def input_fn(mode, **kwargs):
    dataset = tf.data.Dataset.from_tensor_slices((features, labels.astype(np.int32)))
    dataset = dataset.repeat(20 if mode == mox.ModeKeys.TRAIN else 1)
    return dataset.make_one_shot_iterator().get_next()

def model_fn(inputs, mode, **kwargs):
    x, y = inputs
    training = mode == mox.ModeKeys.TRAIN
    {network}
    shift = tf.Variable(tf.zeros([2]), name="shift")
    logits = logits + shift
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    hits = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y)
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
    spec = None
    if mode == mox.ModeKeys.EXPORT:
        spec = mox.ExportSpec({{"x": x}}, {{"logits": logits}}, version="model")
    return mox.ModelSpec(loss=loss, log_info={{"loss": loss, "accuracy": accuracy}},
                         output_info={{"logits": logits}}, export_spec=spec)

def main(_):
    common = dict(input_fn=input_fn, model_fn=model_fn, log_dir="out", batch_size=32)
    trained = mox.run(optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.05),
                      run_mode=mox.ModeKeys.TRAIN, max_number_of_steps=150, log_every_n_steps=149,
                      export_model=mox.ExportKeys.TF_SERVING, **common)
    evaluated = mox.run(run_mode=mox.ModeKeys.EVAL, max_number_of_steps=100, **common)
    outputs = []
    mox.run(run_mode=mox.ModeKeys.PREDICT, max_number_of_steps=100, output_fn=outputs.extend,
            output_every_n_steps=3, **common)
    assert sum(len(step["logits"]) for step in outputs) == 256
    assert trained.metrics["accuracy"] > 0.9 and evaluated.metrics["accuracy"] > 0.95
    assert abs(trained.metrics["loss"] - evaluated.metrics["loss"]) < 0.2
    assert trained.export_dir == "out/model"
    print("as expected")

if __name__ == "__main__":
    tf.app.run(main=main)
"""
SLIM = (
    "logits = slim.fully_connected(slim.batch_norm(x, decay=0.9, is_training=training), 2,"
    " activation_fn=None)"
)
LAYERS = (
    "logits = tf.layers.dense(tf.layers.batch_normalization(x, training=training, momentum=0.9), 2)"
)


def run_program(folder: Path, command: list[str], **parts: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(PROGRAM.format(**parts))
    run = warm.run if command[:2] == ["-m", "moxing"] else subprocess.run
    return run(
        [sys.executable, *command, script], cwd=folder, capture_output=True, text=True, timeout=400
    )


@pytest.mark.slow
def test_slim_under_mox_run(tmp_path: Path) -> None:
    prepare = "slim = tf.contrib.slim"
    command = ["-m", "moxing", "run"]
    done = run_program(tmp_path, command, v1="", prepare=prepare, network=SLIM)
    assert done.stdout == "as expected\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("prepare", ["tf.disable_v2_behavior()", "tf.disable_eager_execution()"])
def test_plain_python_without_v2_behavior(prepare: str, tmp_path: Path) -> None:
    parts = {"v1": ".compat.v1", "prepare": prepare, "network": LAYERS}
    done = run_program(tmp_path, [], **parts)
    assert done.stdout == "as expected\n", done.stderr
