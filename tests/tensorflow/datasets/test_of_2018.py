"""Readers of TFRecord files with the arguments and the methods of MoXing of 2018."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxError, MoxTypeError
from moxing.tensorflow.datasets.tfrecord_common import (
    BaseTFRecordDataset,
    ImageClassificationTFRecordDataset,
    ImageClassificationTFRecordMetadata,
)

Read = Callable[..., list[list[Any]]]
FEATURES = {
    "pair": tf.io.FixedLenFeature([2], tf.float32),
    "label": tf.io.FixedLenFeature([1], tf.int64),
}


@pytest.fixture
def metadata(tmp_path: Path) -> ImageClassificationTFRecordMetadata:
    with tf.io.TFRecordWriter(str(tmp_path / "pairs.tfrecord")) as writer:
        for number in range(6):
            example = tf.train.Example()
            example.features.feature["pair"].float_list.value.extend([number, number + 0.5])
            example.features.feature["label"].int64_list.value.append(number % 2)
            writer.write(example.SerializeToString())
    (tmp_path / "labels.txt").write_text("even\nodd")
    return ImageClassificationTFRecordMetadata(str(tmp_path), "*.tfrecord")


class Pairs(BaseTFRecordDataset):
    def _parser(self, record: tf.Tensor) -> tuple[tf.Tensor, ...]:
        parsed = tf.parse_single_example(record, FEATURES)
        return parsed["pair"], parsed["label"]

    def _build_feature(self, pair: tf.Tensor, label: tf.Tensor) -> None:
        self._add_feature("sum", tf.reduce_sum(pair))
        self._add_feature("label", tf.reshape(label, []))


def test_a_subclass_parses_records_itself(
    metadata: ImageClassificationTFRecordMetadata, read: Read
) -> None:
    assert metadata.num_classes == 2
    rows = read(
        lambda: Pairs(metadata, shuffle=False, num_parallel=4, num_epochs=1), ["label", "sum"]
    )
    assert rows == [[number % 2, 2 * number + 0.5] for number in range(6)]


def test_a_subclass_adds_what_its_features_give(
    metadata: ImageClassificationTFRecordMetadata, read: Read
) -> None:
    class Doubled(BaseTFRecordDataset):
        def _build_feature(self, label: tf.Tensor) -> None:
            self._add_feature("twice", 2 * label[0])

    rows = read(
        lambda: Doubled(metadata, ["label"], [FEATURES["label"]], shuffle=False, num_epochs=1),
        ["twice"],
    )
    assert rows == [[0], [2], [0], [2], [0], [2]]


@pytest.mark.parametrize("by_name", [False, True])
def test_handlers_define_the_items(
    metadata: ImageClassificationTFRecordMetadata, by_name: bool, read: Read
) -> None:
    slim = pytest.importorskip("tf_slim")
    handlers = {
        "pair": slim.tfexample_decoder.Tensor("pair", shape=[2, 1]),
        "label": slim.tfexample_decoder.Tensor("label", shape=[]),
    }
    named = {"keys_to_features": FEATURES, "items_to_handlers": handlers}
    rows = read(
        lambda: ImageClassificationTFRecordDataset(
            metadata,
            *(() if by_name else named.values()),
            **(named if by_name else {}),
            shuffle=False,
            num_readers=16,
            num_epochs=1,
        ),
        ["pair", "label"],
    )
    pair, label = rows[3]
    assert (pair.tolist(), label) == ([[3.0], [3.5]], 1)


def test_without_handlers_the_class_is_that_of_mox(
    metadata: ImageClassificationTFRecordMetadata,
) -> None:
    made = ImageClassificationTFRecordDataset(metadata, 2, False, image_size=(4, 4))
    assert isinstance(made, mox.ImageClassificationTFRecordDataset)
    given = inspect.signature(ImageClassificationTFRecordDataset.__init__)
    assert given == inspect.signature(mox.ImageClassificationTFRecordDataset.__init__)


def test_mistakes(metadata: ImageClassificationTFRecordMetadata, read: Read) -> None:
    with pytest.raises(MoxTypeError, match="give those behind items_to_handlers by name"):
        ImageClassificationTFRecordDataset(metadata, FEATURES, {}, True)

    class Silent(Pairs):
        def _build_feature(self, pair: tf.Tensor, label: tf.Tensor) -> None:
            pass

    with pytest.raises(MoxError, match=r"Silent\._build_feature added no item"):
        read(lambda: Silent(metadata, num_epochs=1), ["pair"])
