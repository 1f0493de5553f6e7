"""`tf.train.Int64List`, which took booleans as long as they counted as integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

_MESSAGE: Any = tf.train.Int64List


class _Kind(type):
    """Shows the message's class, which can't be derived from, with another call."""

    def __call__(cls, *, value: Any = (), **other: Any) -> Any:
        # A numpy.bool_ is no index of a list since NumPy 2, and today's protobuf refuses both.
        whole = [int(item) if isinstance(item, bool | np.bool_) else item for item in value]
        return _MESSAGE(value=whole, **other)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _MESSAGE)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_MESSAGE, name)


class Int64List(metaclass=_Kind):
    """A list of integers in a `tf.train.Feature`; booleans are 0 and 1."""
