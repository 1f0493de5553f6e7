"""cifarnet_preprocessing: shifts and mirrors small images, and changes their light."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.framing import frame
from moxing.tensorflow.preprocessing.plan import Plan
from moxing.tensorflow.preprocessing.randomness import between


@dataclass(frozen=True)
class Cifarnet:
    """Cuts or pads the image to the output size, without resizing.

    In training, the image gets a black border, and a random window of the result is used. Half of
    the images are mirrored, the brightness changes by up to 63, and the contrast of each channel is
    multiplied by 0.2 to 1.8, so values may leave 0..255. Otherwise, the central window is used.

    Args:
      padding: the width of the border in pixels, at least 0.

    Reference: Krizhevsky, Learning multiple layers of features from tiny images (2009), as in
    TF-slim; the border is that of Lee et al., Deeply-supervised nets (2014), arXiv:1409.5185.
    """

    padding: int = 4

    def __post_init__(self) -> None:
        if not (isinstance(self.padding, int) and self.padding >= 0):
            raise MoxValueError(
                f"cifarnet_preprocessing: padding is {self.padding!r}; it must be a whole number "
                f"of at least 0."
            )

    @property
    def count(self) -> int:
        return 5

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        if not numbers:
            return frame(size, output)
        plan = frame(size, output, self.padding, numbers[:2])
        return plan._replace(numbers=numbers[2:])

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        image = pixels.pad(crop, plan)
        if not plan.numbers:
            return image
        mirrored, brightness, contrast = plan.numbers
        image = pixels.flip(image, mirrored) + between(-63.0, 63.0, brightness)
        mean = tf.reduce_mean(image, [0, 1], keepdims=True)
        return between(0.2, 1.8, contrast) * (image - mean) + mean
