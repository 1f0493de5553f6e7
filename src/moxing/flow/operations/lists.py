"""Operations under `flow.` on lists of tensors whose sizes differ, and on boxes and polygons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, lists
from moxing.flow.trace.blobs import Blob, check
from moxing.flow.trace.lists import TensorList

# Bits of a flip code.
_HORIZONTAL, _VERTICAL = 0x01, 0x10


def tensor_list_to_tensor_buffer(input: TensorList, name: str | None = None) -> TensorList:
    """The tensors of a list, without their axis 0, whose size is 1."""
    del name
    return lists.require(input, "flow.tensor_list_to_tensor_buffer").seen(buffered=True)


def tensor_buffer_to_tensor_list(
    input: TensorList, shape: Sequence[int], dtype: Any, name: str | None = None
) -> TensorList:
    """The tensors of a buffer, each with an axis 0 of size 1.

    Args:
        input: a buffer.
        shape: no tensor has more elements.
        dtype: the data type of the tensors.
        name: the name of the operation.

    Raises:
        MoxTypeError: the tensors have another type, or another number of axes.
    """
    del name
    operation = "flow.tensor_buffer_to_tensor_list"
    buffer = lists.require(input, operation, len(shape))
    if buffer.kind != tf.as_dtype(dtype):
        raise MoxTypeError(
            f"{operation}: dtype={tf.as_dtype(dtype).name}, and the tensors are {buffer.kind.name}."
        )
    limit, most = tuple(int(size) for size in shape), math.prod(shape)

    def checked(tensor: tf.Tensor) -> tf.Tensor:
        fits = tf.debugging.Assert(
            tf.size(tensor) <= most,
            [f"{operation}: a tensor has more elements than shape={limit}:", tf.shape(tensor)],
        )
        with tf.control_dependencies([fits]):
            return tf.identity(tensor)

    return buffer.changed(checked, limit=limit).seen(buffered=False)


def tensor_list_split(input_tensor_list: TensorList, name: str | None = None) -> tuple[Blob, ...]:
    """A blob of each tensor of a list; the list has as many tensors as its definition says."""
    own, given = "flow.tensor_list_split", input_tensor_list
    source = lists.require(given, own)
    stem, found = context.op_name(name, "tensor_list_split"), []
    for index in range(source.count):
        with tf.device("/cpu:0"), tf.name_scope(stem):
            made = [tf.identity(source.opened(rows[index])) for rows in source.items]
        found.append(lists.on_devices(made, [size or 1 for size in source.limit]))
    return tuple(found)


def codes(flip_code: Any, source: TensorList, operation: str) -> Blob:
    """The flip code of each tensor.

    Raises:
        MoxValueError: a number that is no flip code.
    """
    if isinstance(flip_code, Blob):
        check(flip_code, operation)
        return flip_code
    if flip_code not in (0, _HORIZONTAL, _VERTICAL, _HORIZONTAL | _VERTICAL):
        raise MoxValueError(
            f"{operation}: flip_code={shown(flip_code)}; it is 0 for nothing, 1 from left to right,"
            " 16 upside down, or 17 for both."
        )
    rows = [tf.fill(tf.shape(strings), tf.constant(flip_code, tf.int8)) for strings in source.items]
    return lists.on_devices(rows, (source.count,))


def horizontal(code: tf.Tensor) -> tf.Tensor:
    """Whether a flip code exchanges left and right."""
    return tf.not_equal(tf.bitwise.bitwise_and(tf.cast(code, tf.int32), _HORIZONTAL), 0)


def vertical(code: tf.Tensor) -> tf.Tensor:
    """Whether a flip code exchanges top and bottom."""
    return tf.not_equal(tf.bitwise.bitwise_and(tf.cast(code, tf.int32), _VERTICAL), 0)


def _scaled(source: TensorList, scale: Blob, operation: str, points: int) -> TensorList:
    check(scale, operation)

    def one(tensor: tf.Tensor, factors: tf.Tensor) -> tf.Tensor:
        return tensor * tf.cast(tf.tile(factors[::-1], [points]), tensor.dtype)

    return source.changed(one, others=[scale])


def object_bbox_flip(
    bbox: TensorList, image_size: Blob, flip_code: Any, name: str | None = None
) -> TensorList:
    """Boxes [n, 4] of flipped images; a box is left, top, right, bottom.

    Args:
        bbox: a buffer with the boxes of each image.
        image_size: height and width of each image, int32.
        flip_code: the code of all images, or a blob with one for each; see `flow.image.flip`.
        name: without effect.
    """
    del name
    operation = "flow.object_bbox_flip"
    source = lists.require(bbox, operation, 2)
    check(image_size, operation)

    def one(boxes: tf.Tensor, size: tf.Tensor, code: tf.Tensor) -> tf.Tensor:
        height, width = tf.unstack(tf.cast(size, boxes.dtype), num=2)
        left, top, right, bottom = tf.unstack(boxes, num=4, axis=1)
        turned, over = horizontal(code), vertical(code)
        columns = [
            tf.where_v2(turned, width - right - 1, left),
            tf.where_v2(over, height - bottom - 1, top),
            tf.where_v2(turned, width - left - 1, right),
            tf.where_v2(over, height - top - 1, bottom),
        ]
        return tf.stack(columns, 1)

    return source.changed(one, others=[image_size, codes(flip_code, source, operation)])


def object_bbox_scale(bbox: TensorList, scale: Blob, name: str | None = None) -> TensorList:
    """Boxes [n, 4] of resized images; `scale` has the factors of height and width."""
    del name
    operation = "flow.object_bbox_scale"
    return _scaled(lists.require(bbox, operation, 2), scale, operation, 2)


def object_segmentation_polygon_flip(
    poly: TensorList, image_size: Blob, flip_code: Any, name: str | None = None
) -> TensorList:
    """Points [n, 2] of flipped images; a point is x, y. Arguments are those of the boxes."""
    del name
    operation = "flow.object_segmentation_polygon_flip"
    source = lists.require(poly, operation, 2)
    check(image_size, operation)

    def one(points: tf.Tensor, size: tf.Tensor, code: tf.Tensor) -> tf.Tensor:
        height, width = tf.unstack(tf.cast(size, points.dtype), num=2)
        x, y = tf.unstack(points, num=2, axis=1)
        columns = [
            tf.where_v2(horizontal(code), width - x, x),
            tf.where_v2(vertical(code), height - y, y),
        ]
        return tf.stack(columns, 1)

    return source.changed(one, others=[image_size, codes(flip_code, source, operation)])


def object_segmentation_polygon_scale(
    poly: TensorList, scale: Blob, name: str | None = None
) -> TensorList:
    """Points [n, 2] of resized images; `scale` has the factors of height and width."""
    del name
    operation = "flow.object_segmentation_polygon_scale"
    return _scaled(lists.require(poly, operation, 2), scale, operation, 1)


__all__ = [
    "object_bbox_flip",
    "object_bbox_scale",
    "object_segmentation_polygon_flip",
    "object_segmentation_polygon_scale",
    "tensor_buffer_to_tensor_list",
    "tensor_list_split",
    "tensor_list_to_tensor_buffer",
]
