"""What an Estimator's runs say is in the words of its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import CheckpointError


def wider(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
    """A model of three classes, with one weight more, in place of two."""
    weights = tf.get_variable("w", [5, 3], initializer=tf.zeros_initializer())
    bias = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.matmul(features["x"], weights) + bias)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tfe.EstimatorSpec(mode, loss=loss, train_op=train_op)


def test_a_finished_training_names_max_steps_and_model_dir(
    estimator: tfe.Estimator, read: Callable[..., Any], said: Callable[[str], list[str]]
) -> None:
    for _ in range(2):
        estimator.train(read(), max_steps=3)
    assert said("already at") == [
        f"checkpoint in {estimator.model_dir} is already at step 3 >= max_steps=3; nothing to"
        " train: raise it or use another model_dir"
    ]


def test_a_changed_model_names_the_folder_and_the_way_to_start_from_its_weights(
    estimator: tfe.Estimator, read: Callable[..., Any], tmp_path: Path
) -> None:
    estimator.train(read(), max_steps=3)
    with pytest.raises(CheckpointError) as caught:
        tfe.Estimator(wider, estimator.model_dir).train(read(), max_steps=6)
    prefix = f"{estimator.model_dir}/model.ckpt-3"
    assert str(caught.value) == (
        f"Variable 'w' has shape [5, 3] in the graph but [5, 2] in {prefix}.\n"
        f"{prefix} lacks this variable of the model: b.\n"
        "The model, or its optimizer, is not the one that was trained in this model_dir. Go back"
        " to that one, or choose a new model_dir and start from these weights with"
        f" warm_start_from={prefix} --checkpoint_exclude_patterns='w,^b$'"
    )
