"""Functions of `tf.contrib.data` that became arguments or methods of `tf.data.Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Transformation = Callable[[Any], Any]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """`dataset.batch` that leaves out a last batch that is too small."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """`dataset.padded_batch` that leaves out a last batch that is too small."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )
