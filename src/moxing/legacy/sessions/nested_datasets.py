"""Lets the datasets that `tf.data` hands to functions tell their types, as in TensorFlow 1.x.

`group_by_window` and its kin call functions with datasets; TensorFlow 2 makes those of a class that
has `element_spec` only.
"""

from __future__ import annotations

from typing import Any

_NAMES = ("output_classes", "output_shapes", "output_types")


def install() -> None:
    """From now on every dataset has `output_shapes` and its kin."""
    import tensorflow.compat.v1 as tf
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if not hasattr(dataset_ops.DatasetV2, name):
            asked: Any = getattr(tf.data, f"get_{name}")
            setattr(dataset_ops.DatasetV2, name, property(asked))


def uninstall() -> None:
    """Undoes `install`."""
    from tensorflow.python.data.ops import dataset_ops

    for name in _NAMES:
        if name in vars(dataset_ops.DatasetV2):
            delattr(dataset_ops.DatasetV2, name)
