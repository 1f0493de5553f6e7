"""lenet_preprocessing: cuts or pads digits to size, also in training."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.framing import frame
from moxing.tensorflow.preprocessing.plan import Plan


@dataclass(frozen=True)
class Lenet:
    """Cuts or pads the middle of the image to the output size, without resizing.

    Nothing is random in any mode: a mirrored digit is not a digit.
    """

    @property
    def count(self) -> int:
        return 0

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        return frame(size, output)

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        return pixels.pad(crop, plan)
