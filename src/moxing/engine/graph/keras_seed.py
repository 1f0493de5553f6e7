"""Lets the seed of a run also fix the initial values of Keras layers, and so of `tf.layers`.

Keras initializers do not use the graph's seed. They draw a seed from Keras' own generator, or from
the operating system if that generator is not set.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def fixed(seed: int | None) -> Iterator[None]:
    """In the block, layers without a seed get one drawn from `seed`; None changes nothing."""
    if seed is None or importlib.util.find_spec("tf_keras") is None:
        yield
        return
    from tf_keras.src import backend  # Takes 0.3 s, which a run without a seed does not need.

    holder = backend._SEED_GENERATOR
    before = getattr(holder, "generator", None)
    holder.generator = random.Random(seed)
    try:
        yield
    finally:
        holder.generator = before
