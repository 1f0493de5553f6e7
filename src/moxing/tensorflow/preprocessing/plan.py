"""Plans which part of an image is used, in whole pixels, from only the image's size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import tensorflow.compat.v1 as tf


class Plan(NamedTuple):
    """The plan of an augmentation of one image.

    Attributes:
      window: the first row, the first column, and the numbers of rows and columns to use, int32 of
        shape [4]; always inside the image, as `tf.io.decode_and_crop_jpeg` needs it.
      padding: the numbers of black rows before and after, and columns before and after, int32 of
        shape [2, 2]; None for a family that resizes instead.
      numbers: the remaining random numbers of the image, each in [0, 1); empty if nothing is
        random.
    """

    window: tf.Tensor
    padding: tf.Tensor | None = None
    numbers: Sequence[tf.Tensor] = ()


class Family(Protocol):
    """An augmentation family."""

    @property
    def count(self) -> int:
        """The number of random numbers that an image needs in training."""
        ...

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        """Returns the plan for an image of `size` (int32 [2]); not random without numbers."""
        ...

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        """Returns the augmented float32 image from the plan's window."""
        ...


def central(size: tf.Tensor, share: float) -> tf.Tensor:
    """Returns the central window with `share` of the rows and of the columns."""
    before = tf.cast(tf.cast(size, tf.float32) * ((1.0 - share) / 2.0), tf.int32)
    return tf.concat([before, size - 2 * before], 0)


def window(size: tf.Tensor, extent: tf.Tensor, numbers: Sequence[tf.Tensor] = ()) -> tf.Tensor:
    """Returns a window of `extent` pixels (float32 [2]), rounded and limited to the image.

    Without numbers, the window is in the middle. Otherwise, the two numbers determine its position;
    all positions are equally likely.
    """
    rounded = tf.clip_by_value(tf.cast(tf.round(extent), tf.int32), 1, size)
    free = size - rounded
    if not numbers:
        return tf.concat([free // 2, rounded], 0)
    # The largest number, 1 - 2^-23, times free + 1 rounds to less than free + 1.
    first = tf.cast(tf.cast(free + 1, tf.float32) * tf.stack(list(numbers)), tf.int32)
    return tf.concat([first, rounded], 0)
