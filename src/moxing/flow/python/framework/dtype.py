"""Data types of the API as numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


def convert_of_dtype_to_numpy_dtype(dtype: Any) -> type[np.generic]:
    """The type of numpy's elements, such as `np.float32` for `flow.float`."""
    return tf.as_dtype(dtype).as_numpy_dtype
