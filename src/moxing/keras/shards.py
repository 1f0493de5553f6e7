"""One batch, shared out to devices and processes so that the sum of the shares is the batch.

A share's gradient is the mean over its samples. Where the shares are not equally large, each is
multiplied by what makes the mean over shares the mean over samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf


def bounds(size: tf.Tensor, share: Any, shares: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The part of a batch that is one share.

    A batch smaller than the number of shares goes to each of them whole: the mean stays the same.

    Args:
        size: scalar int64, samples in the batch.
        share: the number of the share, from 0.
        shares: how many there are.

    Returns:
        First sample, the one behind the last, and what gradients are multiplied by (float32).
    """
    share = tf.cast(share, tf.int64)
    small = size < shares
    low = tf.where(small, tf.zeros_like(size), size * share // shares)
    high = tf.where(small, size, size * (share + 1) // shares)
    part = tf.cast(high - low, tf.float32) * shares / tf.cast(tf.maximum(size, 1), tf.float32)
    return low, high, tf.where(small, tf.ones_like(part), part)


def scaled(gradient: Any, factor: tf.Tensor) -> Any:
    """A gradient times a scalar; None stays None."""
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values * tf.cast(factor, gradient.values.dtype)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * tf.cast(factor, gradient.dtype)


@contextmanager
def random_numbers_of(share: tf.Tensor) -> Iterator[None]:
    """In the block, Keras 3's seed generators give each share numbers of its own.

    The first share's are those that Keras alone would draw; the generators' states are equal in all
    shares.
    """
    try:
        from keras.src.random.seed_generator import SeedGenerator
    except ImportError:
        yield
        return
    original = SeedGenerator.next

    def following(self: Any, *arguments: Any, **named: Any) -> Any:
        seed = original(self, *arguments, **named)
        # Odd, so that shares differ for all numbers of draws.
        other = tf.cast(tf.cast(share, tf.int64) * 2_654_435_761 % (1 << 32), seed.dtype)
        return tf.bitwise.bitwise_xor(seed, tf.stack([other, tf.zeros_like(other)]))

    SeedGenerator.next = following
    try:
        yield
    finally:
        SeedGenerator.next = original
