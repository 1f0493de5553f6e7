"""Readers of data sets: what they hold (metadata), and their samples as tensors (datasets)."""

from __future__ import annotations

from moxing.tensorflow.datasets.raw.raw_dataset import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.datasets.tfrecord import get_tfrecord
from moxing.tensorflow.datasets.tfrecord_common import BaseTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_image import ImageClassificationTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_metadata import (
    BaseTFRecordMetadata,
    ImageClassificationTFRecordMetadata,
)

__all__ = [
    "BaseTFRecordDataset",
    "BaseTFRecordMetadata",
    "ImageClassificationRawDataset",
    "ImageClassificationRawMetadata",
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
    "get_tfrecord",
]
