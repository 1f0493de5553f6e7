"""Information about the TensorFlow in use."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def version_info() -> tuple[int, ...]:
    """Returns the version of TensorFlow as numbers, such as (2, 21, 0)."""
    numbers = tf.__version__.split("-")[0].split(".")
    return tuple(int(part) for part in numbers if part.isdigit())
