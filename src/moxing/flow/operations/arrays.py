"""Operations on shapes and elements, under `flow.`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, lists, rules, shards, spelling
from moxing.flow.trace.blobs import TO_NCHW, Blob, register, tensor_of
from moxing.flow.trace.lists import TensorList
from moxing.flow.trace.parallel import by_sample


@by_sample(rules.transpose)
def transpose(
    a: Blob, perm: Sequence[int] | None = None, conjugate: bool = False, name: str | None = None
) -> Blob:
    """`a` with its axes in the order `perm`; default: the last first."""
    tensor = tensor_of(a, "flow.transpose")
    perm = range(tensor.shape.rank)[::-1] if perm is None else perm
    own = context.op_name(name, "transpose")
    last = None
    if tuple(perm) == TO_NCHW and tensor.shape.rank == 4:
        tensor = last = tf.identity(tensor)
    result = tf.transpose(tensor, list(perm), name=own, conjugate=conjugate)
    return Blob(result, channels_last=last)


@by_sample(rules.reshape)
def reshape(x: Blob, shape: Sequence[int], name: str | None = None) -> Blob:
    """`x` in another shape; one size may be -1.

    Where the input has a dynamic size, an axis 0 that stays as declared has the size that comes,
    and so has axis 0 of a shape without -1.

    Raises:
        MoxValueError: the numbers of elements differ.
    """
    tensor, sizes, declared = tensor_of(x, "flow.reshape"), list(shape), None
    if sizes.count(-1) > 1:
        raise MoxValueError(f"flow.reshape: shape={tuple(shape)} has -1 twice; once is enough.")
    if None in tensor.shape.as_list() and None not in x.static_shape and sizes:
        declared = _filled(x.static_shape, sizes)
        if -1 not in sizes and math.prod(sizes) == math.prod(x.static_shape):
            sizes[0] = -1
        elif sizes[0] == x.static_shape[0]:
            sizes[0] = tf.shape(tensor)[0]
    try:
        made = tf.reshape(tensor, sizes, name=context.op_name(name, "reshape"))
        return Blob(made, declared=declared)
    except ValueError as error:
        raise MoxValueError(
            f"flow.reshape: {x.static_shape} has no shape {tuple(shape)}: the numbers of elements"
            " differ."
        ) from error


@by_sample(rules.listed("values", "axis"))
def concat(values: Sequence[Blob], axis: int, name: str | None = None) -> Blob:
    """The blobs, concatenated along `axis`."""
    tensors = [tensor_of(value, "flow.concat") for value in values]
    return Blob(tf.concat(tensors, axis, name=context.op_name(name, "concat")))


@by_sample(rules.listed("inputs", "axis", inserted=True))
def stack(inputs: Sequence[Blob], axis: int = 0, name: str | None = None) -> Blob:
    """The blobs along a new axis."""
    tensors = [tensor_of(value, "flow.stack") for value in inputs]
    return Blob(tf.stack(tensors, axis, name=context.op_name(name, "stack")))


@shards.by_columns
@by_sample(rules.matmul)
def matmul(
    a: Blob, b: Blob, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Blob:
    """The matrix product; with more than two axes, that of the last two."""
    left, right = tensor_of(a, "flow.matmul"), tensor_of(b, "flow.matmul")
    own = context.op_name(name, "matmul")
    return Blob(tf.matmul(left, right, transpose_a, transpose_b, name=own))


@spelling.placed("params indices axis batch_dims name", spelling.has(2, int))
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
        axis: an axis of `params`; default `batch_dims`.
        batch_dims: if 0, the result has the shape `params.shape[:axis] + indices.shape +
            params.shape[axis + 1:]`. If greater, it must equal `axis`; then all axes of `indices`
            but the last are axes of samples, and the result has the shape `indices.shape +
            params.shape[n + 1:]`.
        name: the name of the operation.

    Raises:
        MoxValueError: with `batch_dims`, `axis` differs from it, or the axes of samples differ.
    """
    values, places = tensor_of(params, "flow.gather"), tensor_of(indices, "flow.gather")
    own = context.op_name(name, "gather")
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


@spelling.also(x="input_")
@by_sample(rules.boxed)
def slice(
    input_: Blob, begin: Sequence[int | None], size: Sequence[int | None], name: str | None = None
) -> Blob:
    """A box of `input_`; None takes the whole axis, as usual for axis 0.

    Args:
        input_: the values.
        begin: the first element on each axis; a negative number counts from the end.
        size: the number of elements on each axis; -1 for all up to the end.
        name: the name of the operation.

    Raises:
        MoxValueError: the box is not within `input_`, or a list has the wrong length.
    """
    tensor, shape = tensor_of(input_, "flow.slice"), input_.static_shape
    if not len(begin) == len(size) == len(shape):
        raise MoxValueError(
            f"flow.slice: begin {shown(begin)} and size {shown(size)} need an entry for each of the"
            f" {len(shape)} axes of {shape}."
        )
    first = [
        0 if b is None else b + (full or 0) * (b < 0) for b, full in zip(begin, shape, strict=True)
    ]
    sizes = [-1 if item is None else item for item in size]
    for b, count, full in zip(first, sizes, shape, strict=True):
        if full is not None and not (0 <= b < max(full, 1) and count >= -1 and b + count <= full):
            raise MoxValueError(
                f"flow.slice: begin {shown(begin)} and size {shown(size)} leave {shape}."
            )
    # The whole of an axis that may come smaller is what comes.
    for axis, known in enumerate(tensor.shape.as_list()):
        if known is None and (first[axis], sizes[axis]) == (0, shape[axis]):
            sizes[axis] = -1
    return Blob(tf.slice(tensor, first, sizes, name=context.op_name(name, "slice")))


@by_sample(rules.always)
def cast(x: Blob, dtype: Any, name: str | None = None) -> Blob:
    """`x` in another data type."""
    tensor = tensor_of(x, "flow.cast")
    return Blob(tf.cast(tensor, dtype, name=context.op_name(name, "cast")), x.batch_axis)


def constant(
    value: float, dtype: Any = None, shape: Sequence[int] | None = None, name: str | None = None
) -> Blob:
    """A blob whose elements are all `value`; its default shape is (1,).

    Raises:
        MoxTypeError: `dtype` is no data type, or `value` is no number.
    """
    own = context.op_name(name, "constant")
    if dtype is None or not isinstance(value, int | float | np.number):
        raise MoxTypeError(
            f"flow.constant takes a number and a dtype, not {shown(value)} and {shown(dtype)}."
        )
    return Blob(tf.fill(list(shape or (1,)), tf.constant(value, dtype), name=own), None)


def constant_scalar(value: float, dtype: Any = None, name: str | None = None) -> Blob:
    """A blob of shape (1,)."""
    return constant(value, dtype, (1,), name)


@by_sample(rules.always)
def constant_like(like: Blob, value: float, dtype: Any = None, name: str | None = None) -> Blob:
    """A blob of the shape of `like` whose elements are all `value`."""
    tensor = tensor_of(like, "flow.constant_like")
    own = context.op_name(name, "constant_like")
    filled = tf.cast(value, tf.as_dtype(dtype or like.dtype))
    return Blob(tf.fill(tf.shape(tensor), filled, name=own))


def zeros_like(like: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """Zeros in the shape of `like`."""
    return constant_like(like, 0, dtype, name)


def ones_like(like: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """Ones in the shape of `like`."""
    return constant_like(like, 1, dtype, name)


@spelling.also(input="x")
@by_sample(rules.always)
def identity(x: Blob, name: str | None = None) -> Blob:
    """The same values."""
    if isinstance(x, TensorList):
        return lists.require(x, "flow.identity").seen(x.buffered)
    tensor = tensor_of(x, "flow.identity")
    return Blob(tf.identity(tensor, name=context.op_name(name, "identity")), x.batch_axis)


def identity_n(inputs: Sequence[Blob], name: str | None = None) -> list[Blob]:
    """The same values of several blobs."""
    return [identity(x, None if name is None else f"{name}_{i}") for i, x in enumerate(inputs)]


@by_sample(rules.leading("x", "like"))
def reshape_like(x: Blob, like: Blob, name: str | None = None) -> Blob:
    """`x` in the shape of `like`."""
    tensor, other = (tensor_of(item, "flow.reshape_like") for item in (x, like))
    own = context.op_name(name, "reshape_like")
    result = tf.reshape(tensor, tf.shape(other), name=own)
    result.set_shape(other.shape)
    return Blob(result)


def dynamic_reshape(x: Blob, shape: Sequence[int], name: str | None = None) -> Blob:
    """`x` in another shape, of which one size may be -1; `x` may be an input of dynamic size."""
    tensor = tensor_of(x, "flow.dynamic_reshape")
    made = tf.reshape(tensor, list(shape), name=context.op_name(name, "dynamic_reshape"))
    return Blob(made, declared=_filled(x.static_shape, shape))


def _filled(whole: Sequence[int], shape: Sequence[int]) -> list[int]:
    """`shape` with the size that -1 stands for, of as many elements as `whole` has."""
    known, total = math.prod(size for size in shape if size != -1), math.prod(whole)
    return [total // known if size == -1 else size for size in shape]


@by_sample(rules.repeated)
def _like(x: Blob, like: Blob, axes: tuple[int, ...], name: str | None) -> Blob:
    tensor, other = (tensor_of(item, "flow.broadcast_like") for item in (x, like))
    for axis in axes if tensor.shape.rank < other.shape.rank else ():
        tensor = tf.expand_dims(tensor, axis)
    own = context.op_name(name, "broadcast_like")
    result = tf.broadcast_to(tensor, tf.shape(other), name=own)
    result.set_shape(other.shape)
    return Blob(result)


def broadcast_like(
    x: Blob, like: Blob, broadcast_axes: Sequence[int] | None = None, name: str | None = None
) -> Blob:
    """`x` repeated to the shape of `like`; `broadcast_axes` are the axes that `x` lacks."""
    return _like(x, like, tuple(sorted(broadcast_axes or ())), name)


def broadcast_to_compatible_with(
    x: Blob, compatible: Sequence[Blob], name: str | None = None
) -> Blob:
    """`x`, broadcast as numpy does with `x` and the blobs of the list."""
    tensor, own = (
        tensor_of(x, "flow.broadcast_to_compatible_with"),
        context.op_name(name, "broadcast"),
    )
    shape, static = tf.shape(tensor), tensor.shape
    for blob in compatible:
        other = tensor_of(blob, "flow.broadcast_to_compatible_with")
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(other))
        static = tf.broadcast_static_shape(static, other.shape)
    result = tf.broadcast_to(tensor, shape, name=own)
    result.set_shape(static)
    return Blob(result)


@by_sample(rules.aligned("prediction", "label"))
def smooth_l1_loss(
    prediction: Blob, label: Blob, beta: float = 1.0, name: str | None = None
) -> Blob:
    """With d = prediction - label: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2.

    The loss of Girshick, 2015, where `beta` is the half width of the parabola.
    """
    x, y = (tensor_of(item, "flow.smooth_l1_loss") for item in (prediction, label))
    own, distance = context.op_name(name, "smooth_l1_loss"), tf.abs(x - y)
    near = distance < tf.cast(beta, x.dtype)
    # A division by 0 in the branch that is not taken would make the gradient NaN.
    inner = 0.5 * tf.square(distance) / tf.cast(beta or 1.0, x.dtype)
    return Blob(tf.where_v2(near, inner, distance - 0.5 * tf.cast(beta, x.dtype), name=own))


def elem_cnt(inputs: Blob, dtype: Any = None, name: str | None = None) -> Blob:
    """How many elements a blob has, of shape (1,), int32 unless `dtype` says otherwise."""
    tensor, own = tensor_of(inputs, "flow.elem_cnt"), context.op_name(name, "elem_cnt")
    count = tf.cast(tf.size(tensor), tf.as_dtype(dtype or tf.int32))
    return Blob(tf.reshape(count, [1], name=own), None)


@spelling.also(input="x")
def parallel_cast(
    x: Blob, name: str | None = None, distribute: Any = None, gradient_distribute: Any = None
) -> Blob:
    """The same values; with several devices, in another layout."""
    del gradient_distribute
    return identity(x, name).with_distribute(distribute)


@spelling.also(inputs="input")
@by_sample(rules.along("input", "axis", inserted=True))
def expand_dims(input: Blob, axis: int, name: str | None = None) -> Blob:
    """`input` with one more axis, of size 1."""
    tensor = tensor_of(input, "flow.expand_dims")
    return Blob(tf.expand_dims(tensor, axis, name=context.op_name(name, "expand_dims")))


@spelling.also(inputs="input")
@by_sample(rules.squeeze)
def squeeze(input: Blob, axis: Sequence[int] | int | None = None, name: str | None = None) -> Blob:
    """`input` without axes of size 1; a scalar keeps shape (1,)."""
    tensor = tensor_of(input, "flow.squeeze")
    result = tf.squeeze(tensor, axis, name=context.op_name(name, "squeeze"))
    return Blob(result if result.shape.rank else tf.reshape(result, [1]))


@by_sample(rules.pad)
def pad(
    x: Blob, paddings: Sequence[Sequence[int]], constant_value: float = 0, name: str | None = None
) -> Blob:
    """`x` with `paddings[i] = (before, after)` more elements along axis i."""
    tensor = tensor_of(x, "flow.pad")
    own = context.op_name(name, "pad")
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
    own, kind = context.op_name(name, "one_hot"), tf.as_dtype(dtype or tf.float32)
    on, off = tf.cast(on_value, kind), tf.cast(off_value, kind)
    return Blob(tf.one_hot(tensor, depth, on, off, axis, name=own))


@spelling.also(t="values", clip_value_min="min_value", clip_value_max="max_value")
@by_sample(rules.always)
def clip_by_value(
    values: Blob,
    min_value: float | None = None,
    max_value: float | None = None,
    name: str | None = None,
) -> Blob:
    """`values` no less than `min_value` and no more than `max_value`.

    Raises:
        MoxValueError: there is neither bound.
    """
    if min_value is None and max_value is None:
        raise MoxValueError("flow.clip_by_value needs min_value, max_value or both.")
    tensor = tensor_of(values, "flow.clip_by_value")
    own = context.op_name(name, "clip_by_value")
    if min_value is not None:
        tensor = tf.maximum(tensor, tf.cast(min_value, tensor.dtype))
    if max_value is not None:
        tensor = tf.minimum(tensor, tf.cast(max_value, tensor.dtype))
    return Blob(tf.identity(tensor, name=own))


register("matmul", matmul)

__all__ = [
    "broadcast_like",
    "broadcast_to_compatible_with",
    "cast",
    "clip_by_value",
    "concat",
    "constant",
    "constant_like",
    "constant_scalar",
    "dynamic_reshape",
    "elem_cnt",
    "expand_dims",
    "gather",
    "identity",
    "identity_n",
    "matmul",
    "one_hot",
    "ones_like",
    "pad",
    "parallel_cast",
    "reshape",
    "reshape_like",
    "slice",
    "smooth_l1_loss",
    "squeeze",
    "stack",
    "transpose",
    "zeros_like",
]
