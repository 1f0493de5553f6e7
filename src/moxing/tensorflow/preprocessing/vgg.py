"""vgg_preprocessing: a crop at a random scale, and mirroring."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.plan import Plan, window
from moxing.tensorflow.preprocessing.randomness import between


@dataclass(frozen=True)
class Vgg:
    """Scales the image so that its shorter side is S, and crops it to the output size.

    In training, S is uniform between the two limits, the position of the crop is random, and half
    of the images are mirrored. Otherwise, S is the smaller limit and the crop is in the middle. The
    crop is cut out before it is resized, so that no other pixels are resized.

    Args:
      resize_side_min: the minimum S in pixels; None: 256/224 of the longer output side.
      resize_side_max: the maximum S in pixels; None: 512/224 of the longer output side.

    Reference: Simonyan, Zisserman, Very Deep Convolutional Networks for Large-Scale Image
    Recognition (2015), arXiv:1409.1556, section 3.1 (multi-scale training).
    """

    resize_side_min: float | None = None
    resize_side_max: float | None = None

    def __post_init__(self) -> None:
        for name in ("resize_side_min", "resize_side_max"):
            side = getattr(self, name)
            if side is not None and not side > 0:
                raise MoxValueError(f"vgg_preprocessing: {name} is {side}; it must be above 0.")

    @property
    def count(self) -> int:
        return 4

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        smallest, largest = self._sides(output)
        side = between(smallest, largest, numbers[0]) if numbers else smallest
        pixels_of_image = tf.cast(size, tf.float32)
        target = tf.constant(output, tf.float32)
        # The crop must fit into the scaled image, so a very elongated image is scaled more.
        scale = tf.maximum(side / tf.reduce_min(pixels_of_image), target / pixels_of_image)
        extent = target / tf.reduce_max(scale)
        return Plan(window(size, extent, numbers[1:3]), numbers=numbers[3:])

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        if plan.numbers:
            crop = pixels.flip(crop, plan.numbers[0])
        return pixels.resize(crop, output)

    def _sides(self, output: tuple[int, int]) -> tuple[float, float]:
        smallest = self.resize_side_min or max(output) * 256 / 224
        largest = self.resize_side_max or max(output) * 512 / 224
        if largest < smallest:
            raise MoxValueError(
                f"vgg_preprocessing: resize_side_max is {largest:g}, less than resize_side_min, "
                f"which is {smallest:g}."
            )
        return smallest, largest
