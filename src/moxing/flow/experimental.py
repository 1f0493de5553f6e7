"""`flow.experimental`: operations that the original tried out."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.flow import absent, math
from moxing.flow.deprecated import variable_scope
from moxing.flow.trace import context
from moxing.flow.trace.blobs import Blob, tensor_of


def broadcast_maximum(a: Blob, b: Blob, name: str | None = None) -> Blob:
    """The larger, broadcast as numpy does."""
    return math.maximum(a, b, name)


def broadcast_minimum(a: Blob, b: Blob, name: str | None = None) -> Blob:
    """The smaller, broadcast as numpy does."""
    return math.minimum(a, b, name)


def square_sum(x: Blob, name: str | None = None) -> Blob:
    """The sum of the squares of all elements, of shape (1,)."""
    tensor, own = tensor_of(x, "flow.experimental.square_sum"), context.op_name(name, "square_sum")
    return Blob(tf.reshape(tf.reduce_sum(tf.square(tensor)), [1], name=own), None)


def unique_with_counts(
    x: Blob, out_idx: Any = None, name: str | None = None
) -> tuple[Blob, Blob, Blob, Blob]:
    """The different elements of `x` in the order in which they come.

    Args:
        x: a blob of one axis.
        out_idx: int32 (default) or int64, of the other results.
        name: the name of the operation.

    Returns:
        The different elements; for each element of `x`, its index among them; the count of each;
        and their number, of shape (1,). The first and third results are padded with zeros to the
        size of `x`.
    """
    tensor = tensor_of(x, "flow.experimental.unique_with_counts")
    own, kind = context.op_name(name, "unique_with_counts"), tf.as_dtype(out_idx or tf.int32)
    found = tf.unique_with_counts(tensor, kind, name=own)
    number = tf.size(found.y, out_type=kind)
    free = [[0, tf.size(tensor) - tf.size(found.y)]]
    full = [tf.pad(found.y, free), found.idx, tf.pad(found.count, free)]
    for item in full:
        item.set_shape(tensor.shape)
    return (
        *(Blob(full[0], None), Blob(full[1]), Blob(full[2], None)),
        Blob(tf.reshape(number, [1]), None),
    )


def indexed_slices_reduce_sum(
    indices: Blob, values: Blob, name: str | None = None
) -> tuple[Blob, Blob, Blob]:
    """Sums of the slices of `values` with the same index.

    Args:
        indices: a blob of any shape.
        values: begins with the axes of `indices`; may have more axes.
        name: the name of the operation.

    Returns:
        The different indices, their sums, and their number, of shape (1,). The first two results
        are padded with zeros to the number of slices.
    """
    ids, slices = (
        tensor_of(item, "flow.experimental.indexed_slices_reduce_sum") for item in (indices, values)
    )
    own, rest = context.op_name(name, "indexed_slices"), slices.shape[ids.shape.rank :].as_list()
    flat, count = tf.reshape(ids, [-1]), tf.size(ids)
    found, places = tf.unique(flat)
    sums = tf.math.unsorted_segment_sum(tf.reshape(slices, [-1, *rest]), places, count, name=own)
    filled = tf.pad(found, [[0, count - tf.size(found)]])
    size = ids.shape.num_elements()
    filled.set_shape([size])
    sums.set_shape([size, *rest])
    number = tf.reshape(tf.size(found), [1])
    return Blob(filled, None), Blob(sums, None), Blob(number, None)


name_scope = variable_scope

__getattr__, __dir__ = absent.of(
    "flow.experimental",
    globals(),
    {
        "dynamic_binary_split": "flow.MirroredTensorDef for inputs of a size that changes",
        "dynamic_binary_concat": "flow.MirroredTensorDef for inputs of a size that changes",
        "distribution_name_scope": "flow.experimental.name_scope",
    },
)
