"""Divides a batch into shares for devices and processes, without changing its mean gradient.

A share's gradient is the mean over its samples. If the shares differ in size, each gradient is
multiplied by a factor that makes the mean over shares equal to the mean over samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf


def bounds(size: tf.Tensor, share: Any, shares: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Computes the range of samples in one share of a batch, and the factor of its gradients.

    If a batch has fewer samples than there are shares, every share is the whole batch: the mean
    stays the same.

    Args:
        size: the number of samples in the batch, an int64 scalar.
        share: the index of the share, from 0.
        shares: the number of shares.

    Returns:
        The index of the first sample, the index after the last sample (both int64 scalars), and the
        factor of the gradients (a float32 scalar).
    """
    share = tf.cast(share, tf.int64)
    small = size < shares
    low = tf.where(small, tf.zeros_like(size), size * share // shares)
    high = tf.where(small, size, size * (share + 1) // shares)
    part = tf.cast(high - low, tf.float32) * shares / tf.cast(tf.maximum(size, 1), tf.float32)
    return low, high, tf.where(small, tf.ones_like(part), part)


def scaled(gradient: Any, factor: tf.Tensor) -> Any:
    """Multiplies a gradient, dense or IndexedSlices, by a scalar; None stays None."""
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values * tf.cast(factor, gradient.values.dtype)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * tf.cast(factor, gradient.dtype)


@contextmanager
def random_numbers_of(share: tf.Tensor) -> Iterator[None]:
    """In the block, Keras 3's seed generators draw different random numbers for each share.

    The first share draws the same numbers as plain Keras; the states of the generators are equal in
    all shares.
    """
    try:
        from keras.src.random.seed_generator import SeedGenerator
    except ImportError:
        yield
        return
    original = SeedGenerator.next

    def following(self: Any, *arguments: Any, **named: Any) -> Any:
        seed = original(self, *arguments, **named)
        # The odd multiplier maps different shares to different values.
        other = tf.cast(tf.cast(share, tf.int64) * 2_654_435_761 % (1 << 32), seed.dtype)
        return tf.bitwise.bitwise_xor(seed, tf.stack([other, tf.zeros_like(other)]))

    SeedGenerator.next = following
    try:
        yield
    finally:
        SeedGenerator.next = original
