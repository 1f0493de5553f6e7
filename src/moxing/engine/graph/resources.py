"""Makes the variables of a run's own graphs resources, whatever the program's default is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf


@contextmanager
def resource_variables() -> Iterator[None]:
    """Within the block, variables are resources unless who makes them says otherwise.

    A program of TensorFlow 1.x gets reference variables in its own graphs, as it always did. Reads
    and writes of those have no defined order, and the executor that is fast for small graphs can't
    run them, so a run's graphs hold none.
    """
    before = tf.resource_variables_enabled()
    tf.enable_resource_variables()
    try:
        yield
    finally:
        if not before:
            tf.disable_resource_variables()
