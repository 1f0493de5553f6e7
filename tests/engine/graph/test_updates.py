"""Batch-norm updates of every layer library are found, each once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import keras_mode, updates


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
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
os.environ["TF_USE_LEGACY_KERAS"] = "1"
from moxing.engine.graph import keras_mode, updates
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


def _functional(keras: Any) -> Any:
    inputs = keras.layers.Input((3,))
    hidden = keras.layers.BatchNormalization()(inputs)
    return keras.Model(inputs, keras.layers.Dropout(0.5)(hidden))


def test_a_functional_model_updates_on_the_inputs_of_the_step_alone() -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default(), tf.Session() as session:
        with keras_mode.following(True):
            result = _functional(tf_keras)(tf.ones([4, 3]))
        found = updates.collect([result])
        assert len(found) == 2
        assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == found
        session.run(tf.global_variables_initializer())
        session.run(found)  # Nothing has to be fed.
        moved = {v.op.name: session.run(v) for v in tf.global_variables() if "moving" in v.name}
        np.testing.assert_allclose(moved["batch_normalization/moving_mean"], 0.01)


def test_updates_on_an_input_that_is_fed_are_the_steps() -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default(), keras_mode.following(True):
        model = _functional(tf_keras)
        assert len(updates.collect([model.output])) == 2
        assert updates.collect() == []


@pytest.mark.parametrize("training", [True, False])
def test_layers_follow_the_mode(training: bool) -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default(), tf.Session() as session:
        dropout = tf_keras.layers.Dropout(0.5)
        with keras_mode.following(training):
            result = session.run(dropout(tf.ones([100])))
            told = session.run(dropout(tf.ones([100]), training=not training))

        assert (result == 1).all() != training
        assert (told == 1).all() == training


def test_a_phase_that_the_program_sets_stands() -> None:
    updates.watch_keras()
    import tf_keras

    with tf.Graph().as_default(), tf.Session() as session, keras_mode.following(True):
        tf_keras.backend.set_learning_phase(0)
        assert (session.run(tf_keras.layers.Dropout(0.5)(tf.ones([100]))) == 1).all()
