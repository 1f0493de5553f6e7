"""Operations on shapes and elements, under `flow.`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import rules, shards, tracing
from moxing.flow.blobs import TO_NCHW, Blob, tensor_of
from moxing.flow.parallel import by_sample


@by_sample(rules.transpose)
def transpose(
    a: Blob, perm: Sequence[int], conjugate: bool = False, name: str | None = None
) -> Blob:
    """`a` with its axes in the order `perm`."""
    tensor = tensor_of(a, "flow.transpose")
    own = tracing.op_name(name, "transpose")
    last = None
    if tuple(perm) == TO_NCHW and tensor.shape.rank == 4:
        tensor = last = tf.identity(tensor)
    result = tf.transpose(tensor, list(perm), name=own, conjugate=conjugate)
    return Blob(result, channels_last=last)


@by_sample(rules.reshape)
def reshape(x: Blob, shape: Sequence[int], name: str | None = None) -> Blob:
    """`x` in another shape; one size may be -1.

    Raises:
        MoxValueError: the numbers of elements differ.
    """
    tensor = tensor_of(x, "flow.reshape")
    try:
        return Blob(tf.reshape(tensor, list(shape), name=tracing.op_name(name, "reshape")))
    except ValueError as error:
        raise MoxValueError(
            f"flow.reshape: {x.static_shape} has no shape {tuple(shape)}: the numbers of elements"
            " differ."
        ) from error


@by_sample(rules.listed("values", "axis"))
def concat(values: Sequence[Blob], axis: int, name: str | None = None) -> Blob:
    """The blobs one behind another along `axis`."""
    tensors = [tensor_of(value, "flow.concat") for value in values]
    return Blob(tf.concat(tensors, axis, name=tracing.op_name(name, "concat")))


@by_sample(rules.listed("inputs", "axis", inserted=True))
def stack(inputs: Sequence[Blob], axis: int = 0, name: str | None = None) -> Blob:
    """The blobs along a new axis."""
    tensors = [tensor_of(value, "flow.stack") for value in inputs]
    return Blob(tf.stack(tensors, axis, name=tracing.op_name(name, "stack")))


@shards.by_columns
@by_sample(rules.matmul)
def matmul(
    a: Blob, b: Blob, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Blob:
    """The matrix product; of the last two axes where there are more."""
    left, right = tensor_of(a, "flow.matmul"), tensor_of(b, "flow.matmul")
    own = tracing.op_name(name, "matmul")
    return Blob(tf.matmul(left, right, transpose_a, transpose_b, name=own))


@by_sample(rules.gather)
def gather(
    params: Blob,
    indices: Blob,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Blob:
    """Slices of `params` along `axis`, or with `batch_dims` each sample's own slices.

    Args:
        params: the values.
        indices: whole numbers; with `batch_dims`, of shape `params.shape[:n] + (k,)` for some n.
        validate_indices: without effect.
        axis: of `params`; default `batch_dims`.
        batch_dims: 0: the result is of shape `params.shape[:axis] + indices.shape +
            params.shape[axis + 1:]`. Greater, and then equal to `axis`: all axes of `indices` but
            the last are those of samples, whatever the number, and the result is of shape
            `indices.shape + params.shape[n + 1:]`.
        name: of the operation.

    Raises:
        MoxValueError: with `batch_dims`, another axis, or axes of samples that differ.
    """
    values, places = tensor_of(params, "flow.gather"), tensor_of(indices, "flow.gather")
    own = tracing.op_name(name, "gather")
    if not batch_dims:
        place = 0 if axis is None else axis
        return Blob(tf.gather(values, places, axis=place, name=own))
    samples = places.shape.rank - 1
    if batch_dims < 0 or axis not in (None, batch_dims, batch_dims - values.shape.rank):
        raise MoxValueError(
            f"flow.gather: batch_dims={shown(batch_dims)} goes with the same axis, not with"
            f" axis={shown(axis)}."
        )
    batch = (values.shape[:samples], places.shape[:samples])
    if samples >= values.shape.rank or not batch[0].is_compatible_with(batch[1]):
        raise MoxValueError(
            f"flow.gather with batch_dims: all axes of indices {indices.static_shape} but the last"
            f" must be the first ones of params {params.static_shape}."
        )
    return Blob(tf.gather(values, places, axis=samples, batch_dims=samples, name=own))


@by_sample(rules.always)
def slice(
    input_: Blob, begin: Sequence[int | None], size: Sequence[int | None], name: str | None = None
) -> Blob:
    """A box of `input_`, whole along axis 0: element 0 of `begin` and `size` is None.

    Raises:
        MoxValueError: it is not None.
    """
    tensor = tensor_of(input_, "flow.slice")
    if begin[0] is not None or size[0] is not None:
        raise MoxValueError("flow.slice: begin[0] and size[0] must be None: axis 0 stays whole.")
    sizes = [-1 if item is None else item for item in size]
    own = tracing.op_name(name, "slice")
    return Blob(tf.slice(tensor, [item or 0 for item in begin], sizes, name=own))


@by_sample(rules.always)
def cast(x: Blob, dtype: Any, name: str | None = None) -> Blob:
    """`x` in another data type."""
    tensor = tensor_of(x, "flow.cast")
    return Blob(tf.cast(tensor, dtype, name=tracing.op_name(name, "cast")), x.batch_axis)


def constant(
    value: float, dtype: Any = None, shape: Sequence[int] = (1,), name: str | None = None
) -> Blob:
    """A blob whose elements are all `value`.

    Raises:
        MoxTypeError: no data type, or no number.
    """
    own = tracing.op_name(name, "constant")
    if dtype is None or not isinstance(value, int | float | np.number):
        raise MoxTypeError(
            f"flow.constant takes a number and a dtype, not {shown(value)} and {shown(dtype)}."
        )
    return Blob(tf.fill(list(shape) or [1], tf.constant(value, dtype), name=own), None)


def constant_scalar(value: float, dtype: Any = None, name: str | None = None) -> Blob:
    """A blob of shape (1,)."""
    return constant(value, dtype, (1,), name)


@by_sample(rules.always)
def constant_like(like: Blob, value: float, dtype: Any = None, name: str | None = None) -> Blob:
    """A blob of the shape of `like` whose elements are all `value`."""
    tensor = tensor_of(like, "flow.constant_like")
    own = tracing.op_name(name, "constant_like")
    filled = tf.cast(value, tf.as_dtype(dtype or like.dtype))
    return Blob(tf.fill(tf.shape(tensor), filled, name=own))


def zeros_like(like: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """Zeros in the shape of `like`."""
    return constant_like(like, 0, dtype, name)


def ones_like(like: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """Ones in the shape of `like`."""
    return constant_like(like, 1, dtype, name)


@by_sample(rules.always)
def identity(x: Blob, name: str | None = None) -> Blob:
    """The same values."""
    tensor = tensor_of(x, "flow.identity")
    return Blob(tf.identity(tensor, name=tracing.op_name(name, "identity")), x.batch_axis)


def parallel_cast(
    x: Blob, name: str | None = None, distribute: Any = None, gradient_distribute: Any = None
) -> Blob:
    """The same values, laid out otherwise where there are several devices."""
    del gradient_distribute
    return identity(x, name).with_distribute(distribute)


@by_sample(rules.along("input", "axis", inserted=True))
def expand_dims(input: Blob, axis: int, name: str | None = None) -> Blob:
    """`input` with an axis of size 1 more."""
    tensor = tensor_of(input, "flow.expand_dims")
    return Blob(tf.expand_dims(tensor, axis, name=tracing.op_name(name, "expand_dims")))


@by_sample(rules.squeeze)
def squeeze(input: Blob, axis: Sequence[int] | int | None = None, name: str | None = None) -> Blob:
    """`input` without axes of size 1; a scalar keeps shape (1,)."""
    tensor = tensor_of(input, "flow.squeeze")
    result = tf.squeeze(tensor, axis, name=tracing.op_name(name, "squeeze"))
    return Blob(result if result.shape.rank else tf.reshape(result, [1]))


@by_sample(rules.pad)
def pad(
    x: Blob, paddings: Sequence[Sequence[int]], constant_value: float = 0, name: str | None = None
) -> Blob:
    """`x` with `paddings[i] = (before, after)` more elements along axis i."""
    tensor = tensor_of(x, "flow.pad")
    own = tracing.op_name(name, "pad")
    return Blob(
        tf.pad(tensor, [list(p) for p in paddings], name=own, constant_values=constant_value)
    )


@by_sample(rules.along("indices", "axis", inserted=True))
def one_hot(
    indices: Blob,
    depth: int,
    on_value: float = 1,
    off_value: float = 0,
    axis: int = -1,
    dtype: Any = None,
    name: str | None = None,
) -> Blob:
    """`on_value` at the index along a new axis, `off_value` elsewhere."""
    tensor = tensor_of(indices, "flow.one_hot")
    own, kind = tracing.op_name(name, "one_hot"), tf.as_dtype(dtype or tf.float32)
    on, off = tf.cast(on_value, kind), tf.cast(off_value, kind)
    return Blob(tf.one_hot(tensor, depth, on, off, axis, name=own))


@by_sample(rules.along("input", "axis"))
def argsort(
    input: Blob, direction: str = "ASCENDING", name: str | None = None, *, axis: int = -1
) -> Blob:
    """The indices, int32, that sort along `axis`, upward or "DESCENDING".

    Raises:
        MoxValueError: another direction.
    """
    tensor, order = tensor_of(input, "flow.argsort"), _direction("flow.argsort", direction)
    return Blob(tf.argsort(tensor, axis, order, name=tracing.op_name(name, "argsort")))


def _direction(operation: str, given: Any) -> str:
    if given not in ("ASCENDING", "DESCENDING"):
        raise MoxValueError(
            f"{operation}: direction={shown(given)}; it is 'ASCENDING' or 'DESCENDING'."
        )
    return given


def unsorted_segment_sum(
    data: Blob, segment_ids: Blob, num_segments: int, axis: int = 0, name: str | None = None
) -> Blob:
    """Sums of the slices of `data` along `axis` that have the same segment id."""
    values, ids = (tensor_of(item, "flow.unsorted_segment_sum") for item in (data, segment_ids))
    rank = values.shape.rank
    order = [axis, *(i for i in range(rank) if i != axis)]
    own = tracing.op_name(name, "unsorted_segment_sum")
    sums = tf.math.unsorted_segment_sum(tf.transpose(values, order), ids, num_segments, name=own)
    return Blob(tf.transpose(sums, [order.index(i) for i in range(rank)]))


@by_sample(rules.always)
def clip_by_value(
    values: Blob,
    min_value: float | None = None,
    max_value: float | None = None,
    name: str | None = None,
) -> Blob:
    """`values` no less than `min_value` and no more than `max_value`."""
    tensor = tensor_of(values, "flow.clip_by_value")
    own = tracing.op_name(name, "clip_by_value")
    if min_value is not None:
        tensor = tf.maximum(tensor, tf.cast(min_value, tensor.dtype))
    if max_value is not None:
        tensor = tf.minimum(tensor, tf.cast(max_value, tensor.dtype))
    return Blob(tf.identity(tensor, name=own))


__all__ = [
    "argsort",
    "cast",
    "clip_by_value",
    "concat",
    "constant",
    "constant_like",
    "constant_scalar",
    "expand_dims",
    "gather",
    "identity",
    "matmul",
    "one_hot",
    "ones_like",
    "pad",
    "parallel_cast",
    "reshape",
    "slice",
    "squeeze",
    "stack",
    "transpose",
    "unsorted_segment_sum",
    "zeros_like",
]
