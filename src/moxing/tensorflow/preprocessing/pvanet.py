"""pvanet_preprocessing: a crop of three quarters of each side, and mirroring."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.plan import Plan, central, window

_SHARE = 192 / 256


@dataclass(frozen=True)
class Pvanet:
    """Resizes 192/256 of the rows and columns to the output size, ignoring the aspect ratio.

    In training, the position of the crop is random, and half of the images are mirrored. Otherwise,
    the crop is in the middle.

    Reference: Kim et al., PVANET: Deep but Lightweight Neural Networks for Real-time Object
    Detection (2016), arXiv:1608.08021, the pre-training on ImageNet.
    """

    @property
    def count(self) -> int:
        return 3

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        if not numbers:
            return Plan(central(size, _SHARE))
        extent = tf.cast(size, tf.float32) * _SHARE
        return Plan(window(size, extent, numbers[:2]), numbers=numbers[2:])

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        if plan.numbers:
            crop = pixels.flip(crop, plan.numbers[0])
        return pixels.resize(crop, output)
