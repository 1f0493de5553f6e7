"""`get_tfrecord`: reads TFRecord files with features and handlers, without a subclass."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from moxing.tensorflow.datasets.tfrecord_common import BaseTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_metadata import BaseTFRecordMetadata


def get_tfrecord(
    dataset_dir: str | os.PathLike[str],
    file_pattern: str | Sequence[str],
    keys_to_features: Mapping[str, Any],
    items_to_handlers: Mapping[str, Any],
    num_samples: int | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    num_readers: int = 8,
    batch_size: int | None = None,
    drop_remainder: bool = False,
    private_num_threads: int = 0,
    skip_bad: bool = False,
) -> BaseTFRecordDataset:
    """Returns a reader of TFRecord files. Call it in `input_fn`, because `get` makes operations.

        dataset = mox.get_tfrecord(
            dataset_dir="data",
            file_pattern="*.tfrecord",
            keys_to_features={"x": tf.FixedLenFeature([4], tf.float32)},
            items_to_handlers={"x": slim.tfexample_decoder.Tensor("x", shape=[2, 2])},
        )
        [x] = dataset.get(["x"])

    Args:
        dataset_dir: the folder of the files.
        file_pattern: a shell pattern, or a list of shell patterns.
        keys_to_features: the features to parse, as for `tf.io.parse_single_example`.
        items_to_handlers: a handler of slim's tfexample_decoder for each item.
        num_samples: the number of records; None: count them.
        num_epochs, shuffle, num_readers, batch_size, drop_remainder, private_num_threads, skip_bad:
            see `BaseTFRecordDataset`.

    Raises:
        MoxError: no file matches, a file is not a TFRecord file, or an argument is invalid.
    """
    return BaseTFRecordDataset(
        BaseTFRecordMetadata(dataset_dir, file_pattern, num_samples),
        shuffle=shuffle,
        num_parallel=num_readers,
        num_epochs=num_epochs,
        batch_size=batch_size,
        private_num_threads=private_num_threads,
        drop_remainder=drop_remainder,
        skip_bad=skip_bad,
        keys_to_features=keys_to_features,
        items_to_handlers=items_to_handlers,
    )
