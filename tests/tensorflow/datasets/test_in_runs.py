"""Readers in whole runs: a resumed run is, bit for bit, the run that was never interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.datasets import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.preprocessing import get_data_augmentation_fn


@pytest.fixture
def _seed() -> Any:
    mox.set_flag("seed", 3)
    yield
    mox.set_flag("seed", None)


def _batches_of_the_reader(metadata: Any) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        augment = get_data_augmentation_fn("resnet_v1_50", mode, 8, 8)
        dataset = ImageClassificationRawDataset(metadata, batch_size=4, augmentation_fn=augment)
        return dataset.get(["image", "label", "image_name"])

    return input_fn


def _batches_of_the_run(metadata: Any) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        image, label, name = ImageClassificationRawDataset(metadata).get(
            ["image", "label", "image_name"]
        )
        image = get_data_augmentation_fn("resnet_v1_50", mode, 8, 8)(image)
        return tf.image.random_brightness(image, 20.0), label, name

    return input_fn


def _batches_of_two_readers(metadata: Any) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        first = ImageClassificationRawDataset(metadata, image_size=8).get(["image", "label"])
        [other] = ImageClassificationRawDataset(metadata, image_size=8).get(["image_name"])
        return tf.cast(first[0], tf.float32), first[1], other

    return input_fn


@pytest.fixture
def train(make_tree: Any, tmp_path: Path) -> Callable[..., tuple[list[Any], np.ndarray]]:
    """`train(make_input_fn, log_dir, steps)`: what each step saw and logged, and the weights."""
    metadata = ImageClassificationRawMetadata(make_tree({"daisy": 5, "roses": 6}))

    def run(make_input_fn: Any, log_dir: str, steps: int) -> tuple[list[Any], np.ndarray]:
        seen: list[Any] = []

        def model_fn(inputs: Any, mode: str) -> Any:
            images, labels, names = inputs
            weights = tf.get_variable("weights", [3, 2])
            logits = tf.matmul(tf.reduce_mean(images, [1, 2]) / 255.0, weights)
            loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
            info = {"loss": loss, "names": names, "sum": tf.reduce_sum(images)}
            return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info=info)

        result = mox.run(
            input_fn=make_input_fn(metadata),
            model_fn=model_fn,
            optimizer_fn=lambda: tf.train.MomentumOptimizer(0.5, 0.9),
            output_fn=seen.extend,
            output_every_n_steps=1,
            run_mode=mox.ModeKeys.TRAIN,
            batch_size=4,
            auto_batch=make_input_fn is not _batches_of_the_reader,
            log_dir=str(tmp_path / log_dir),
            max_number_of_steps=steps,
        )
        return seen, tf.train.load_variable(result.checkpoint, "weights")

    return run


@pytest.mark.slow
@pytest.mark.usefixtures("_seed")
@pytest.mark.parametrize(
    ("make_input_fn", "stops"),
    [
        (_batches_of_the_reader, (2, 5)),
        (_batches_of_the_run, (5,)),
        (_batches_of_two_readers, (2,)),
    ],
)
def test_a_resumed_run_is_as_an_uninterrupted_one(
    make_input_fn: Any, stops: tuple[int, ...], train: Any
) -> None:
    whole, weights = train(make_input_fn, "whole", 9)
    parts = []
    for steps in (*stops, 9):  # Epochs have 11 samples: all stops are in the middle of one.
        seen, resumed = train(make_input_fn, "parts", steps)
        parts += seen
    for one, other in zip(parts, whole, strict=True):
        assert one["names"].tolist() == other["names"].tolist()
        assert one["sum"] == other["sum"]
        assert one["loss"] == other["loss"]
    np.testing.assert_array_equal(resumed, weights)


@pytest.mark.slow
def test_without_a_seed_epochs_stay_whole_over_a_resume(train: Any, tmp_path: Path) -> None:
    names: list[bytes] = []
    for steps in (2, 5, 11):
        seen, _ = train(_batches_of_the_reader, "parts", steps)
        names += [name for step in seen for name in step["names"].tolist()]
    for epoch in range(4):
        assert len(set(names[11 * epoch : 11 * (epoch + 1)])) == 11
    assert (tmp_path / "parts" / "labels.txt").read_text() == "0: daisy\n1: roses\n"
