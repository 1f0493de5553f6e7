"""lenet_preprocessing: digits cut or padded to size, in training as well."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.framing import frame
from moxing.tensorflow.preprocessing.plan import Plan


@dataclass(frozen=True)
class Lenet:
    """The middle of the image, cut or padded to the output size; it is not resized.

    Nothing is random in any mode: a digit that is mirrored is no digit.
    """

    @property
    def count(self) -> int:
        return 0

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        return frame(size, output)

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        return pixels.pad(crop, plan)
