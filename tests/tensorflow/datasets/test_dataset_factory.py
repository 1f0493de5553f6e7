"""Data sets known by name."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import get_dataset, get_dataset_meta
from moxing.tensorflow.datasets.folders.convert import to_tfrecord


def test_splits_can_be_unpacked() -> None:
    train, held = get_dataset_meta("mnist").splits_to_sizes.keys()
    assert (train, held) == ("train", "test")
    assert get_dataset_meta("mnist").num_classes == 10
    assert list(get_dataset_meta("imagenet").splits_to_sizes.values()) == [1_281_167, 50_000]
    assert get_dataset_meta("imagenet").num_classes == 1001
    assert get_dataset_meta("flowers").splits_to_sizes == {"train": 3320, "validation": 350}


def test_mnist_has_one_channel(tmp_path: Path, read: Any, encode: Any) -> None:
    digits = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1), dtype=np.uint8)
    with tf.io.TFRecordWriter(str(tmp_path / "mnist_train.tfrecord")) as writer:
        for label, digit in enumerate(digits):
            features = {
                "image/encoded": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[encode(digit, "png")])
                ),
                "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    rows = read(
        lambda: get_dataset("mnist", "train", tmp_path, capacity=4000, num_epochs=1),
        ["label", "image"],
    )
    assert len(rows) == 3
    for label, image in rows:
        np.testing.assert_array_equal(image, digits[label])
    with tf.Graph().as_default():
        [image] = get_dataset("mnist", "train", tmp_path).get(["image"])
        assert (image.shape.as_list(), image.dtype) == ([28, 28, 1], tf.uint8)


def _idx(kind: int, array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(kind.to_bytes(4, "big") + sizes + array.tobytes())


def test_mnist_as_it_is_published(tmp_path: Path, read: Any) -> None:
    chance = np.random.default_rng(0)
    images = chance.integers(0, 256, (5, 28, 28), dtype=np.uint8)
    labels = np.array([3, 1, 4, 1, 5], np.uint8)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(_idx(0x803, images))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(_idx(0x801, labels))

    def make(**arguments: Any) -> Any:
        return get_dataset("mnist", "test", tmp_path, **arguments)

    rows = read(lambda: make(num_epochs=1, shuffle=False), ["image", "label"])
    assert [int(row[1]) for row in rows] == labels.tolist()
    for (image, _), digit in zip(rows, images, strict=True):
        np.testing.assert_array_equal(image[:, :, 0], digit)
    both = read(lambda: make(num_epochs=2, batch_size=4), ["label"])
    assert [len(row[0]) for row in both] == [4, 4, 2]
    assert sorted(np.concatenate([row[0] for row in both])) == sorted([*labels, *labels])
    with tf.Graph().as_default():
        [image] = make().get(["image"])
        assert (image.shape.as_list(), image.dtype) == ([28, 28, 1], tf.uint8)
        with pytest.raises(MoxValueError, match="no file in"):
            get_dataset("mnist", "train", tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(_idx(0x801, labels[:4]))
    with pytest.raises(MoxValueError, match="has 5 images and .* 4 labels"):
        make()


def test_flowers_of_the_converter(make_tree: Any, tmp_path: Path, read: Any) -> None:
    to_tfrecord(make_tree({"daisy": 3}, base="train"), tmp_path / "out", parts=2)
    rows = read(
        lambda: get_dataset(
            name="flowers", split_name="train", dataset_dir=tmp_path / "out", num_epochs=1
        ),
        ["image", "label"],
    )
    assert sorted(row[0].shape for row in rows) == [(20, 30, 3), (21, 29, 3), (22, 28, 3)]


def test_unknown_names(tmp_path: Path) -> None:
    for call, message in (
        (
            lambda: get_dataset_meta("minst"),
            "get_dataset_meta: there is no data set 'minst'. Did you mean 'mnist'? Known: mnist,"
            " imagenet, flowers. For others use mox.ImageClassificationTFRecordMetadata or"
            " mox.ImageClassificationRawMetadata.",
        ),
        (
            lambda: get_dataset("mnist", "eval", tmp_path),
            "get_dataset: mnist has no split 'eval'. Its splits are train, test.",
        ),
        (
            lambda: get_dataset("mnist", "test", tmp_path),
            f"no file in {tmp_path} matches 'mnist_test.tfrecord', 'test-*.tfrecord'. It is empty.",
        ),
    ):
        with pytest.raises(MoxValueError) as caught:
            call()
        assert str(caught.value) == message
