"""Operations that choose, order and scatter elements, under `flow.`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, rules, spelling
from moxing.flow.trace.blobs import Blob, tensor_of
from moxing.flow.trace.parallel import by_sample


@by_sample(rules.aligned("condition", "x", "y"))
def _chosen(condition: Blob, x: Blob, y: Blob, name: str | None) -> Blob:
    tensors = [tensor_of(item, "flow.where") for item in (condition, x, y)]
    own = context.op_name(name, "where")
    return Blob(tf.where_v2(tf.not_equal(tensors[0], 0), tensors[1], tensors[2], name=own))


def where(
    condition: Blob, x: Blob | None = None, y: Blob | None = None, name: str | None = None
) -> Blob:
    """`x` where `condition` is not 0, else `y`, broadcast as numpy does; without both `argwhere`.

    Raises:
        MoxValueError: only one of `x` and `y` is given.
    """
    if x is None and y is None:
        return argwhere(condition, name=name)
    if x is None or y is None:
        raise MoxValueError("flow.where takes both x and y, or neither.")
    return _chosen(condition, x, y, name)


def argwhere(condition: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """The indices of the elements that are not 0, one in each row, in the elements' order.

    Args:
        condition: a blob of any type and shape.
        dtype: int32 (default) or int64.
        name: the name of the operation.

    Returns:
        A blob with a row for each such element of the step. Its static shape is
        (elements, axes of `condition`).
    """
    tensor = tensor_of(condition, "flow.argwhere")
    own, kind = context.op_name(name, "argwhere"), tf.as_dtype(dtype or tf.int32)
    found = tf.cast(tf.where_v2(tf.not_equal(tensor, 0)), kind, name=own)
    size = condition.static_shape
    declared = (tf.TensorShape(size).num_elements(), len(size))
    return Blob(found, None, declared=declared)


def nonzero(a: Blob, name: str | None = None) -> Blob:
    """As `argwhere`, with an index in each column: shape (axes of `a`, elements that are not 0)."""
    places = argwhere(a, name=name)
    own = context.op_name(None, "nonzero")
    declared = places.static_shape[::-1]
    return Blob(tf.transpose(places.tensor, name=own), None, declared=declared)


@by_sample(rules.along("input", "axis"))
def sort(
    input: Blob, direction: str = "ASCENDING", name: str | None = None, *, axis: int = -1
) -> Blob:
    """The elements in order along `axis`, upward or "DESCENDING".

    Raises:
        MoxValueError: the direction is unknown.
    """
    tensor, order = tensor_of(input, "flow.sort"), checked_direction("flow.sort", direction)
    return Blob(tf.sort(tensor, axis, order, name=context.op_name(name, "sort")))


@by_sample(rules.along("input", "axis"))
def argsort(
    input: Blob, direction: str = "ASCENDING", name: str | None = None, *, axis: int = -1
) -> Blob:
    """The indices, int32, that sort along `axis`, upward or "DESCENDING".

    Raises:
        MoxValueError: the direction is unknown.
    """
    tensor, order = tensor_of(input, "flow.argsort"), checked_direction("flow.argsort", direction)
    return Blob(tf.argsort(tensor, axis, order, name=context.op_name(name, "argsort")))


def checked_direction(operation: str, given: Any) -> str:
    """The direction of a sort.

    Raises:
        MoxValueError: the direction is unknown.
    """
    if given not in ("ASCENDING", "DESCENDING"):
        raise MoxValueError(
            f"{operation}: direction={shown(given)}; it is 'ASCENDING' or 'DESCENDING'."
        )
    return given


@spelling.also(input="x")
@by_sample(rules.sliced)
def slice_v2(x: Blob, slice_tup_list: Sequence[Sequence[int | None]], name: Any = None) -> Blob:
    """`x[b0:e0:s0, b1:e1:s1, ...]` of a list of triples (begin, end, stride); None as in Python.

    Axes without a triple stay whole.

    Raises:
        MoxTypeError: something else is given.
    """
    tensor = tensor_of(x, "flow.slice_v2")
    triples = list(slice_tup_list)
    if len(triples) > len(x.static_shape) or any(len(item) != 3 for item in triples):
        raise MoxTypeError(
            f"flow.slice_v2 takes a triple (begin, end, stride) for each axis, at most"
            f" {len(x.static_shape)}, not {shown(slice_tup_list)}."
        )
    parts = tuple(_slice(*triple) for triple in triples)
    return Blob(tf.identity(tensor[parts], name=context.op_name(name, "slice_v2")))


def _slice(begin: int | None, end: int | None, stride: int | None) -> slice:
    return slice(begin, end, stride)


def gather_nd(params: Blob, indices: Blob, name: str | None = None) -> Blob:
    """The elements or slices of `params` at the places in the last axis of `indices`."""
    values, places = (tensor_of(item, "flow.gather_nd") for item in (params, indices))
    # The number of the result's axes depends on the length of an index, which no input changes.
    if indices.shape:
        length = indices.shape[-1]
        if length is None:
            raise MoxNotSupportedError(
                "flow.gather_nd: the last axis of its indices, the axes of params that they name,"
                " has no fixed size. Give it one: flow.reshape(indices, (..., size))."
            )
        places = tf.ensure_shape(places, [*places.shape.as_list()[:-1], length])
    return Blob(tf.gather_nd(values, places, name=context.op_name(name, "gather_nd")))


def scatter_nd(indices: Blob, updates: Blob, shape: Sequence[int], name: str | None = None) -> Blob:
    """Zeros of a shape, to which `updates` are added at the places in `indices`."""
    places, values = (tensor_of(item, "flow.scatter_nd") for item in (indices, updates))
    own = context.op_name(name, "scatter_nd")
    return Blob(tf.scatter_nd(places, values, list(shape), name=own))


def tensor_scatter_nd_update(
    params: Blob, indices: Blob, updates: Blob, name: str | None = None
) -> Blob:
    """`params` with `updates` in the places in `indices`."""
    given = [tensor_of(x, "flow.tensor_scatter_nd_update") for x in (params, indices, updates)]
    own = context.op_name(name, "tensor_scatter_nd_update")
    return Blob(tf.tensor_scatter_nd_update(*given, name=own))


def tensor_scatter_nd_add(
    params: Blob, indices: Blob, updates: Blob, name: str | None = None
) -> Blob:
    """`params` with `updates` added at the places in `indices`."""
    given = [tensor_of(x, "flow.tensor_scatter_nd_add") for x in (params, indices, updates)]
    own = context.op_name(name, "tensor_scatter_nd_add")
    return Blob(tf.tensor_scatter_nd_add(*given, name=own))


@spelling.placed("data segment_ids num_segments name", spelling.has(3, str))
def unsorted_segment_sum(
    data: Blob, segment_ids: Blob, num_segments: int, axis: int = 0, name: str | None = None
) -> Blob:
    """Sums of the slices of `data` along `axis` that have the same segment id."""
    values, ids = (tensor_of(item, "flow.unsorted_segment_sum") for item in (data, segment_ids))
    own = context.op_name(name, "unsorted_segment_sum")
    return Blob(_segment_sums(values, ids, num_segments, axis, own))


def unsorted_segment_sum_like(
    data: Blob, segment_ids: Blob, like: Blob, axis: int = 0, name: str | None = None
) -> Blob:
    """As `unsorted_segment_sum`; the number of segments is the size of `like` along `axis`."""
    what = "flow.unsorted_segment_sum_like"
    values, ids = tensor_of(data, what), tensor_of(segment_ids, what)
    count = tf.shape(tensor_of(like, what))[axis]
    own = context.op_name(name, "unsorted_segment_sum_like")
    return Blob(_segment_sums(values, ids, count, axis, own), like.batch_axis)


def _segment_sums(values: tf.Tensor, ids: tf.Tensor, count: Any, axis: int, name: str) -> tf.Tensor:
    rank, of_ids = values.shape.rank, ids.shape.rank
    first = list(range(axis, axis + of_ids))
    order = [*first, *(i for i in range(rank) if i not in first)]
    sums = tf.math.unsorted_segment_sum(tf.transpose(values, order), ids, count, name=name)
    # The segments are the first axis; the others follow in their order.
    back = [i + 1 for i in range(axis)]
    return tf.transpose(sums, [*back, 0, *range(axis + 1, sums.shape.rank)])


@by_sample(rules.leading("data", "segment_ids"))
def unsorted_batch_segment_sum(
    data: Blob, segment_ids: Blob, num_segments: int, name: str | None = None
) -> Blob:
    """Sums the slices of each sample that have the same segment id.

    Args:
        data: [batch..., n, ...].
        segment_ids: int32 or int64 [batch..., n], from 0 to `num_segments` - 1; all of its axes but
            the last are axes of the batch.
        num_segments: the length of the result's axis of segments, which stands where n stood.
        name: the name of the operation.

    Returns:
        [batch..., num_segments, ...].
    """
    values, ids = (tensor_of(x, "flow.unsorted_batch_segment_sum") for x in (data, segment_ids))
    own = context.op_name(name, "unsorted_batch_segment_sum")
    axis = ids.shape.rank - 1
    hot = tf.one_hot(ids, num_segments, dtype=values.dtype, axis=axis)  # [batch..., segments, n]
    sizes = _sizes(values)
    sums = tf.matmul(hot, tf.reshape(values, [*sizes[: axis + 1], -1]))
    return Blob(tf.reshape(sums, [*sizes[:axis], num_segments, *sizes[axis + 1 :]], name=own))


def _sizes(tensor: tf.Tensor) -> list[Any]:
    known, sizes = tensor.shape.as_list(), tf.shape(tensor)
    return [sizes[i] if size is None else size for i, size in enumerate(known)]


__all__ = [
    "argsort",
    "argwhere",
    "gather_nd",
    "nonzero",
    "scatter_nd",
    "slice_v2",
    "sort",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_update",
    "unsorted_batch_segment_sum",
    "unsorted_segment_sum",
    "unsorted_segment_sum_like",
    "where",
]
