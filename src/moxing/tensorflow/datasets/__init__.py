"""Readers of data sets: what they hold (metadata), and their samples as tensors (datasets)."""

from __future__ import annotations

from moxing.tensorflow.datasets.raw.raw_dataset import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)

__all__ = ["ImageClassificationRawDataset", "ImageClassificationRawMetadata"]
