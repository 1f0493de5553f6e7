"""The readers of image files, under the module name that old programs import."""

from __future__ import annotations

from moxing.tensorflow.datasets.dataset_utils import split_image_classification_dataset
from moxing.tensorflow.datasets.raw.image_classification import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.datasets.raw.multilabel import (
    MultilabelClassificationRawDataset,
    MultilabelClassificationRawMetadata,
)

__all__ = [
    "ImageClassificationRawDataset",
    "ImageClassificationRawMetadata",
    "MultilabelClassificationRawDataset",
    "MultilabelClassificationRawMetadata",
    "split_image_classification_dataset",
]
