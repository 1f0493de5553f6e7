"""Augmentation of single images, by the family that each network was trained with."""

from __future__ import annotations

from moxing.tensorflow.preprocessing.augmentation import Augmentation
from moxing.tensorflow.preprocessing.factory import get_data_augmentation_fn

__all__ = ["Augmentation", "get_data_augmentation_fn"]
