"""Which part of an image is used: windows in whole pixels, found from the image's size alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import tensorflow.compat.v1 as tf


class Plan(NamedTuple):
    """What will happen to one image.

    Attributes:
      window: int32 [4], the first row, first column, rows and columns to use; always inside the
        image, as `tf.io.decode_and_crop_jpeg` wants it.
      padding: int32 [2, 2], rows before and after, columns before and after, that are black; None
        for a family that resizes instead.
      numbers: what is left of the image's random numbers, each in [0, 1); empty when nothing is
        random.
    """

    window: tf.Tensor
    padding: tf.Tensor | None = None
    numbers: Sequence[tf.Tensor] = ()


class Family(Protocol):
    """One way to augment."""

    @property
    def count(self) -> int:
        """How many random numbers an image needs in training."""
        ...

    def plan(self, size: tf.Tensor, output: tuple[int, int], numbers: list[tf.Tensor]) -> Plan:
        """The plan for an image of `size` (int32 [2]); without numbers nothing is random."""
        ...

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        """The float32 image made of the plan's window."""
        ...


def central(size: tf.Tensor, share: float) -> tf.Tensor:
    """The window in the middle that has `share` of the rows and of the columns."""
    before = tf.cast(tf.cast(size, tf.float32) * ((1.0 - share) / 2.0), tf.int32)
    return tf.concat([before, size - 2 * before], 0)


def window(size: tf.Tensor, extent: tf.Tensor, numbers: Sequence[tf.Tensor] = ()) -> tf.Tensor:
    """A window of about `extent` pixels (float32 [2]), rounded and cut to fit inside the image.

    Without numbers it is in the middle, else at the place that the two numbers say, each place
    being equally likely.
    """
    rounded = tf.clip_by_value(tf.cast(tf.round(extent), tf.int32), 1, size)
    free = size - rounded
    if not numbers:
        return tf.concat([free // 2, rounded], 0)
    # The largest number, 1 - 2^-23, times free + 1 rounds to less than free + 1.
    first = tf.cast(tf.cast(free + 1, tf.float32) * tf.stack(list(numbers)), tf.int32)
    return tf.concat([first, rounded], 0)
