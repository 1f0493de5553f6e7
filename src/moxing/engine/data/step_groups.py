"""Makes an input end with a whole step when several devices each take an element."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def pad(dataset: Any, devices: int) -> Any:
    """Appends a flag to each element, and elements of zeros, flagged False, to the end.

    The flags are True for the elements of `dataset`. With `devices - 1` elements of zeros after
    them, groups of `devices` elements take every real element, and every group has a real one.

    Args:
        dataset: a dataset of tensors or flat tuples of tensors.
        devices: number of elements that a step takes.

    Returns:
        A dataset of flat tuples. In the elements of zeros, unknown dimensions are 1.
    """
    flagged = dataset.map(lambda *element: (*element, tf.constant(True)))
    specs = tf.nest.flatten(tf.data.get_output_types(dataset))
    shapes = tf.nest.flatten(tf.data.get_output_shapes(dataset))
    zeros = tuple(
        tf.zeros([size or 1 for size in shape.as_list()] if shape.rank is not None else [], dtype)
        for shape, dtype in zip(shapes, specs, strict=True)
    )
    filler = tf.data.Dataset.from_tensors((*zeros, tf.constant(False)))
    return flagged.concatenate(filler.repeat(devices - 1))
