"""Every random number of the augmentation, drawn for one image at a time in one operation."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def uniform(count: int, seed: Any = None) -> list[tf.Tensor]:
    """`count` scalars of float32, uniform in [0, 1), that belong to one image.

    Args:
      count: how many.
      seed: integer tensor of shape [2], such as (seed of the run, index of the sample). The
        numbers are then a function of it alone. None: the numbers follow from the graph's seed
        (`tf.set_random_seed`) and from how many images came before, or from chance.
    """
    if seed is None:
        numbers = tf.random.uniform([count], seed=_operation_seed())
    else:
        numbers = tf.random.stateless_uniform([count], seed)
    return tf.unstack(numbers, num=count)


def _operation_seed() -> int | None:
    """The place of the operation in its graph, where the graph has a seed.

    It is what TensorFlow would choose, but inside a function of `tf.data` TensorFlow warns of its
    own choice at each call.
    """
    graph = tf.get_default_graph()
    return None if graph.seed is None else graph.version


def between(low: float, high: float, number: tf.Tensor) -> tf.Tensor:
    """The number of [0, 1) carried to [low, high)."""
    return low + (high - low) * number
