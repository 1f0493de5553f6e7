"""Lets the seed of a run fix the initial values of Keras' layers, and so of `tf.layers`, too.

Keras' initializers do not ask the graph for its seed. They draw one from a generator of their own,
and without it from the operating system.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def fixed(seed: int | None) -> Iterator[None]:
    """In the block, layers without a seed get theirs from `seed`; None: nothing is changed."""
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
