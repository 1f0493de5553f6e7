"""Batch-norm updates of every layer library are found, each once."""

from __future__ import annotations

import os
import subprocess
import sys

import tensorflow.compat.v1 as tf

from moxing.engine.graph import updates


def test_keras_layers_join_the_collection() -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default():
        x = tf.random_normal([4, 3])
        layer = tf_keras.layers.BatchNormalization()
        layer(x, training=True)
        assert {op.type for op in updates.collect()} == {"AssignSubVariableOp"}
        assert len(updates.collect()) == 2


def test_evaluation_of_a_keras_layer_updates_nothing() -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default():
        tf_keras.layers.BatchNormalization()(tf.random_normal([4, 3]), training=False)
        assert updates.collect() == []


def test_an_operation_collected_twice_runs_once() -> None:
    with tf.Graph().as_default():
        update = tf.no_op()
        for _ in range(2):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
        assert updates.collect() == [update]


def test_keras_is_watched_before_it_is_imported_and_not_imported_for_it() -> None:
    program = """
import sys, os
import tensorflow.compat.v1 as tf
os.environ["TF_USE_LEGACY_KERAS"] = "1"
from moxing.engine.graph import updates
updates.watch_keras()
updates.watch_keras()
assert "tf_keras" not in sys.modules
with tf.Graph().as_default():
    tf.keras.layers.BatchNormalization()(tf.random_normal([4, 3]), training=True)
    assert len(updates.collect()) == 2, updates.collect()
"""
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
