"""Makes the variables in a run's graphs resource variables, whatever the program's default is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf


@contextmanager
def resource_variables() -> Iterator[None]:
    """Makes resource variables the default in the block; a variable may still say otherwise.

    In its own graphs, a TensorFlow 1.x program gets reference variables, as it always did. Reads
    and writes of reference variables have no defined order, and the executor that is fast for small
    graphs can't run them, so a run's graphs don't use them by default.
    """
    before = tf.resource_variables_enabled()
    tf.enable_resource_variables()
    try:
        yield
    finally:
        if not before:
            tf.disable_resource_variables()
