"""Draws all random numbers of one image's augmentation in one operation."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def uniform(count: int, seed: Any = None) -> list[tf.Tensor]:
    """Returns `count` float32 scalars for one image, uniform in [0, 1).

    Args:
      count: the number of scalars.
      seed: an integer tensor of shape [2], such as (seed of the run, index of the sample), which
        alone determines the numbers. None: the numbers depend on the graph's seed
        (`tf.set_random_seed`) and the number of earlier images, or are random without a seed.
    """
    if seed is None:
        numbers = tf.random.uniform([count], seed=_operation_seed())
    else:
        numbers = tf.random.stateless_uniform([count], seed)
    return tf.unstack(numbers, num=count)


def _operation_seed() -> int | None:
    """Returns the index of the operation in its graph as a seed; None if the graph has no seed.

    TensorFlow would choose the same seed, but inside a `tf.data` function it would warn of this at
    each call.
    """
    graph = tf.get_default_graph()
    return None if graph.seed is None else graph.version


def between(low: float, high: float, number: tf.Tensor) -> tf.Tensor:
    """Maps a number in [0, 1) to [low, high)."""
    return low + (high - low) * number
