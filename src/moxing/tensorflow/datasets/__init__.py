"""Readers of data sets: metadata classes describe the files, and dataset classes read samples."""

from __future__ import annotations

from moxing.tensorflow.datasets.dataset_factory import get_dataset, get_dataset_meta
from moxing.tensorflow.datasets.dataset_utils import split_image_classification_dataset
from moxing.tensorflow.datasets.raw.image_classification import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.datasets.raw.multilabel import (
    MultilabelClassificationRawDataset,
    MultilabelClassificationRawMetadata,
)
from moxing.tensorflow.datasets.reader.raw_reader import AsyncRawGenerator
from moxing.tensorflow.datasets.tfrecord import get_tfrecord
from moxing.tensorflow.datasets.tfrecord_common import BaseTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_image import ImageClassificationTFRecordDataset
from moxing.tensorflow.datasets.tfrecord_metadata import (
    BaseTFRecordMetadata,
    ImageClassificationTFRecordMetadata,
)

__all__ = [
    "AsyncRawGenerator",
    "BaseTFRecordDataset",
    "BaseTFRecordMetadata",
    "ImageClassificationRawDataset",
    "ImageClassificationRawMetadata",
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
    "MultilabelClassificationRawDataset",
    "MultilabelClassificationRawMetadata",
    "get_dataset",
    "get_dataset_meta",
    "get_tfrecord",
    "split_image_classification_dataset",
]
