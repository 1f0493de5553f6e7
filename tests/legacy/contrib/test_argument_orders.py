"""Functions of `tf.contrib` take their arguments by the names and in the order of 1.15."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.contrib import seq2seq
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def _contrib(faces: Faces, path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(faces.load(f"tensorflow.contrib.{module}"), name)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("image.transform", "images transforms interpolation output_shape name"),
        ("image.rotate", "images angles interpolation name"),
        ("image.translate", "images translations interpolation name"),
        ("image.angles_to_projective_transforms", "angles image_height image_width name"),
        ("image.translations_to_projective_transforms", "translations name"),
        ("framework.load_variable", "checkpoint_dir name"),
        ("framework.list_variables", "checkpoint_dir"),
        ("framework.init_from_checkpoint", "checkpoint_dir assignment_map"),
        ("training.RandomStrategy", "num_ps_tasks seed"),
        (
            "learn.read_batch_features",
            "file_pattern batch_size features reader randomize_input num_epochs queue_capacity"
            " feature_queue_capacity reader_num_threads num_enqueue_threads parse_fn name",
        ),
        (
            "seq2seq.sequence_loss",
            "logits targets weights average_across_timesteps average_across_batch"
            " sum_over_timesteps sum_over_batch softmax_loss_function name",
        ),
    ],
)
def test_arguments_have_their_names_and_places(faces: Faces, path: str, names: str) -> None:
    wanted = names.split()
    assert list(inspect.signature(_contrib(faces, path)).parameters)[: len(wanted)] == wanted


def _cross_entropy(labels: Any, logits: Any) -> Any:
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return 2.0 * each


@pytest.mark.parametrize(
    "others", [(_cross_entropy, "loss"), (False, False, _cross_entropy, "loss")]
)
def test_a_loss_of_sequences_takes_both_orders_of_its_arguments(others: tuple[Any, ...]) -> None:
    chance = np.random.default_rng(1)
    logits = tf.constant(chance.normal(size=(2, 3, 4)), tf.float32)
    targets, weights = tf.constant([[1, 2, 3], [0, 1, 2]]), tf.ones([2, 3])
    single = seq2seq.sequence_loss(logits, targets, weights, True, True)
    given = seq2seq.sequence_loss(logits, targets, weights, True, True, *others)
    assert given.op.name.startswith("loss")
    none = seq2seq.sequence_loss(logits, targets, weights, True, True, None, "plain")
    assert none.op.name.startswith("plain")
    with tf.Session() as session:
        one, two, three = session.run([single, given, none])
    assert two == pytest.approx(2.0 * one)
    assert three == one


def test_an_image_is_moved_into_another_size(faces: Faces) -> None:
    pixels = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    transform = _contrib(faces, "image.transform")
    moved = transform(tf.constant(pixels), [1, 0, 1, 0, 1, 0, 0, 0], "NEAREST", [2, 5], "moved")
    assert moved.shape.as_list() == [2, 5]
    assert moved.op.name.startswith("moved")
    with tf.Session() as session:
        found = session.run(moved)
    # Column x of the output is column x + 1 of the input; the input ends after column 3.
    assert found.tolist() == [[1, 2, 3, 0, 0], [5, 6, 7, 0, 0]]


def test_variables_of_a_checkpoint_by_the_name_of_their_time(faces: Faces, tmp_path: Path) -> None:
    framework: Any = faces.load("tensorflow.contrib.framework")
    with tf.Graph().as_default(), tf.Session() as session:
        saved = tf.get_variable("w", initializer=[1.0, 2.0])
        session.run(tf.global_variables_initializer())
        tf.train.Saver([saved]).save(session, str(tmp_path / "model.ckpt"))
    assert framework.list_variables(checkpoint_dir=str(tmp_path)) == [("w", [2])]
    value = framework.load_variable(checkpoint_dir=str(tmp_path), name="w")
    assert value.tolist() == [1.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.get_variable("v", initializer=[0.0, 0.0])
        framework.init_from_checkpoint(checkpoint_dir=str(tmp_path), assignment_map={"w": other})
        session.run(tf.global_variables_initializer())
        assert session.run(other).tolist() == [1.0, 2.0]


def test_hyperparameters_keep_the_structure_of_a_model(faces: Faces) -> None:
    params = _contrib(faces, "training.HParams")(rate=0.1, model_structure="deep")
    assert params.get_model_structure() == "deep"
    params.set_model_structure("wide")
    assert params.set_from_map({"rate": 0.5}).rate == 0.5
    assert params.get_model_structure() == "wide"
