"""The data sets known by name (mnist, imagenet, flowers), as slim's converters write them.

For mnist, the four original files can be read, too.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, near_matches
from moxing.framework import file
from moxing.tensorflow.datasets import arguments, digits
from moxing.tensorflow.datasets.decoding import decode
from moxing.tensorflow.datasets.digits import DigitsDataset
from moxing.tensorflow.datasets.stream import Settings
from moxing.tensorflow.datasets.tfrecord_common import BaseTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_metadata import BaseTFRecordMetadata


@dataclass(frozen=True)
class DatasetMeta:
    """A data set.

    Attributes:
        name: the name of the data set.
        splits_to_sizes: the number of samples in each split, the training split first.
        num_classes: the number of classes.
        file_patterns: patterns for the files of a split, with `{}` for its name; the first pattern
            that matches any file counts.
        image_shape: the (rows, columns, channels) of every image, if all have the same shape.
    """

    name: str
    splits_to_sizes: dict[str, int]
    num_classes: int
    file_patterns: tuple[str, ...]
    image_shape: tuple[int, int, int] | None = None


# Sizes and classes: https://github.com/tensorflow/models/tree/master/research/slim/datasets
_KNOWN = {
    meta.name: meta
    for meta in (
        DatasetMeta(
            "mnist",
            {"train": 60_000, "test": 10_000},
            10,
            ("mnist_{}.tfrecord", "{}-*.tfrecord"),
            (28, 28, 1),
        ),
        DatasetMeta("imagenet", {"train": 1_281_167, "validation": 50_000}, 1001, ("{}-*",)),
        DatasetMeta(
            "flowers",
            {"train": 3_320, "validation": 350},
            5,
            ("flowers_{}_*.tfrecord", "{}-*.tfrecord"),
        ),
    )
}


def get_dataset_meta(name: str) -> DatasetMeta:
    """Returns the metadata of mnist, imagenet (with a background class 0) or flowers.

    Raises:
        MoxValueError: another name.
    """
    if name not in _KNOWN:
        raise MoxValueError(
            f"get_dataset_meta: there is no data set {name!r}.{near_matches(str(name), _KNOWN)}"
            f" Known: {', '.join(_KNOWN)}. For others use mox.ImageClassificationTFRecordMetadata"
            " or mox.ImageClassificationRawMetadata."
        )
    return _KNOWN[name]


def get_dataset(
    name: str,
    split_name: str,
    dataset_dir: str | os.PathLike[str],
    capacity: int = 256,
    shuffle: bool = True,
    num_epochs: int | None = None,
    num_readers: int = 8,
    batch_size: int | None = None,
    skip_bad: bool = False,
) -> BaseTFRecordDataset | DigitsDataset:
    """Returns a reader of a split of a known data set.

    Call it in `input_fn`, because the reader's `get` makes operations. The items of `get` are image
    (uint8 of shape [rows, columns, 3], for mnist [28, 28, 1]) and label (an int64 scalar).

    Args:
        name: see `get_dataset_meta`.
        split_name: a key of the data set's `splits_to_sizes`.
        dataset_dir: the folder of the TFRecord files; for mnist, also of the idx files, gzipped or
            not.
        capacity: at least 1; has no effect, because the pipeline tunes itself.
        shuffle, num_epochs, num_readers, batch_size, skip_bad: see `BaseTFRecordDataset`.

    Raises:
        MoxValueError: the name or the split is unknown, or there are no files.
    """
    meta = get_dataset_meta(name)
    arguments.count("get_dataset", "capacity", capacity, 1)
    if split_name not in meta.splits_to_sizes:
        raise MoxValueError(
            f"get_dataset: {name} has no split {split_name!r}."
            f"{near_matches(str(split_name), meta.splits_to_sizes)} Its splits are"
            f" {', '.join(meta.splits_to_sizes)}."
        )
    folder = arguments.path("get_dataset", "dataset_dir", dataset_dir)
    patterns = [pattern.format(split_name) for pattern in meta.file_patterns]
    found = [p for p in patterns if file.glob(os.path.join(glob.escape(folder), p))]
    files = digits.find(folder, split_name) if name == "mnist" and not found else None
    if files is not None:
        settings = Settings(
            arguments.optional_count("get_dataset", "num_epochs", num_epochs, 1),
            arguments.flag("get_dataset", "shuffle", shuffle),
            arguments.optional_count("get_dataset", "batch_size", batch_size, 1),
        )
        return DigitsDataset(files, settings)
    return _Named(
        BaseTFRecordMetadata(folder, found[:1] or patterns),
        meta,
        shuffle=shuffle,
        num_parallel=num_readers,
        num_epochs=num_epochs,
        batch_size=batch_size,
        skip_bad=skip_bad,
    )


class _Named(BaseTFRecordDataset):
    """Images and labels of slim's records."""

    def __init__(self, metadata: BaseTFRecordMetadata, meta: DatasetMeta, **options: Any) -> None:
        features = {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        }
        super().__init__(metadata, list(features), list(features.values()), **options)
        self._shape = meta.image_shape

    def _build_features(self, *values: Any) -> None:
        content, label = values
        if self._shape is None:
            image = decode.decode(content)
        else:
            image = tf.io.decode_image(content, self._shape[2], expand_animations=False)
            image = tf.ensure_shape(image, self._shape)
        self._add_feature("image", image)
        self._add_feature("label", label)
