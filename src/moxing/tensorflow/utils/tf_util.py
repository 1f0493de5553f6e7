"""What programs ask about the TensorFlow they run on."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def version_info() -> tuple[int, ...]:
    """The numbers of TensorFlow's version, such as (2, 21, 0)."""
    numbers = tf.__version__.split("-")[0].split(".")
    return tuple(int(part) for part in numbers if part.isdigit())
