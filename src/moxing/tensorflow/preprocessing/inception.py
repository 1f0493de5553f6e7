"""inception_preprocessing: a crop of random area and aspect ratio, mirroring and new colors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.preprocessing import pixels
from moxing.tensorflow.preprocessing.plan import Plan, central, window
from moxing.tensorflow.preprocessing.randomness import between


@dataclass(frozen=True)
class Inception:
    """Resizes a window of random area and aspect ratio to the output size.

    In training, the logarithm of the aspect ratio (width / height) is uniform, and the area is
    uniform in its range, up to the largest window of that ratio in the image. Half of the images
    are mirrored. The brightness changes by up to 32, and the saturation is multiplied by 0.5 to
    1.5; without `fast_mode`, the contrast is also multiplied by 0.5 to 1.5, and the hue rotates by
    up to 0.2 turns. Otherwise, the central 87.5 % of the rows and columns are resized.

    Args:
      fast_mode: whether contrast and hue are left unchanged.
      area_range: the range of the window's area, as shares of the image in (0, 1].
      aspect_ratio_range: the range of the window's aspect ratio, above 0.
      central_fraction: the share of rows and columns that is used when nothing is random, in
        (0, 1].

    Reference: Szegedy et al., Going deeper with convolutions (2014), arXiv:1409.4842, section 6;
    the sizes of the color changes are those of TF-slim.
    """

    fast_mode: bool = True
    area_range: tuple[float, float] = (0.08, 1.0)
    aspect_ratio_range: tuple[float, float] = (3 / 4, 4 / 3)
    central_fraction: float = 0.875

    def __post_init__(self) -> None:
        low, high = self.area_range
        if not 0 < low <= high <= 1:
            raise MoxValueError(
                f"inception_preprocessing: area_range is {self.area_range}; it must satisfy "
                f"0 < low <= high <= 1."
            )
        low, high = self.aspect_ratio_range
        if not 0 < low <= high:
            raise MoxValueError(
                f"inception_preprocessing: aspect_ratio_range is {self.aspect_ratio_range}; it "
                f"must satisfy 0 < low <= high."
            )
        if not 0 < self.central_fraction <= 1:
            raise MoxValueError(
                f"inception_preprocessing: central_fraction is {self.central_fraction}; it must "
                f"be in (0, 1]."
            )

    @property
    def count(self) -> int:
        return 7 if self.fast_mode else 9

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        if not numbers:
            return Plan(central(size, self.central_fraction))
        rows, columns = tf.unstack(tf.cast(size, tf.float32), num=2)
        low, high = (math.log(ratio) / 2 for ratio in self.aspect_ratio_range)
        # A window of ratio q^2 and area s^2 has the height s / q and the width s q.
        q = tf.exp(between(low, high, numbers[0]))
        largest = tf.square(tf.minimum(rows * q, columns / q))
        area = rows * columns
        top = tf.minimum(largest, self.area_range[1] * area)
        bottom = tf.minimum(top, self.area_range[0] * area)
        side = tf.sqrt(bottom + (top - bottom) * numbers[1])
        extent = tf.stack([side / q, side * q])
        return Plan(window(size, extent, numbers[2:4]), numbers=numbers[4:])

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        if not plan.numbers:
            return pixels.resize(crop, output)
        mirrored, brightness, saturation, *rest = plan.numbers
        image = pixels.resize(pixels.flip(crop, mirrored), output)
        return pixels.recolor(
            image,
            between(-32.0, 32.0, brightness),
            between(0.5, 1.5, saturation),
            hue=between(-0.2, 0.2, rest[0]) if rest else None,
            contrast=between(0.5, 1.5, rest[1]) if rest else None,
        )
