"""Operations on buffers of images whose sizes differ: `flow.image.decode` and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.operations.lists import codes, horizontal, vertical
from moxing.flow.trace import lists
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.images import pixels_of
from moxing.flow.trace.lists import TensorList


def image_decode(
    images_bytes_buffer: TensorList,
    dtype: Any = tf.uint8,
    color_space: str = "BGR",
    name: str | None = None,
) -> TensorList:
    """Images [h, w, c] of the bytes of JPEG, PNG, GIF or BMP files.

    Args:
        images_bytes_buffer: the bytes of each file, int8 or uint8.
        dtype: the data type of the images.
        color_space: "BGR", "RGB" or "GRAY".
        name: without effect.

    Raises:
        MoxTypeError: the tensors are no bytes.
        MoxValueError: an unknown color space.
    """
    del name
    source = lists.require(images_bytes_buffer, "flow.image.decode", 1)
    kind, channels = tf.as_dtype(dtype), 1 if color_space == "GRAY" else 3
    if source.kind not in (tf.int8, tf.uint8):
        raise MoxTypeError(
            f"flow.image.decode takes the bytes of image files, int8 or uint8, not"
            f" {source.kind.name}."
        )
    if color_space not in ("BGR", "RGB", "GRAY"):
        raise MoxValueError(
            f"flow.image.decode: color_space={shown(color_space)}; it is 'BGR', 'RGB' or 'GRAY'."
        )
    letters = tf.constant([bytes([number]) for number in range(256)])

    def one(content: tf.Tensor) -> tf.Tensor:
        places = tf.cast(tf.bitcast(content, tf.uint8), tf.int32)
        text = tf.strings.reduce_join(tf.gather(letters, places))
        pixels = pixels_of(text, channels)
        return tf.cast(tf.reverse(pixels, [-1]) if color_space == "BGR" else pixels, kind)

    return source.changed(one, kind, (None, None, channels))


def image_target_resize(
    images: TensorList, target_size: int, max_size: int, name: str | None = None
) -> tuple[TensorList, Blob, Blob]:
    """Images whose shorter side is `target_size`, unless the longer one would exceed `max_size`.

    Returns:
        The images, their heights and widths (int32), and the factors of height and width (float).

    Raises:
        MoxValueError: the sizes are not valid.
    """
    del name
    source = lists.require(images, "flow.image.target_resize", 3)
    if not 0 < target_size <= max_size:
        raise MoxValueError(
            f"flow.image.target_resize: target_size={shown(target_size)},"
            f" max_size={shown(max_size)}: they are above 0, and the first is not the larger one."
        )

    def size(sides: tf.Tensor) -> tf.Tensor:
        before = tf.cast(sides, tf.float64)
        least, most = tf.reduce_min(before), tf.reduce_max(before)
        longer = tf.round(most / least * target_size)
        fits = longer <= max_size
        longer = tf.where_v2(fits, longer, tf.cast(max_size, tf.float64))
        shorter = tf.where_v2(
            fits, tf.cast(target_size, tf.float64), tf.round(longer * least / most)
        )
        upright = before[1] < before[0]
        return tf.cast(
            tf.where_v2(upright, tf.stack([longer, shorter]), tf.stack([shorter, longer])), tf.int32
        )

    def one(image: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        sides = tf.shape(image)[:2]
        own = size(sides)
        pixels = tf.raw_ops.ResizeBilinear(images=image[None], size=own, half_pixel_centers=True)[0]
        made = tf.cast(tf.round(pixels) if image.dtype.is_integer else pixels, image.dtype)
        scale = tf.cast(own, tf.float32) / tf.cast(sides, tf.float32)
        return tf.io.serialize_tensor(made), own, scale

    found = source.of_each(one, (tf.string, tf.int32, tf.float32))
    rows, sizes, scales = zip(*found, strict=True)
    limit = (max_size, max_size, source.limit[2])
    pair = (source.count, 2)
    return (
        TensorList(rows, source.kind, limit, source.count),
        lists.on_devices(sizes, pair),
        lists.on_devices(scales, pair),
    )


def image_batch_align(
    images: TensorList, shape: Sequence[int], dtype: Any, alignment: int, name: str | None = None
) -> Blob:
    """A batch [n, h, w, c] of images, filled up with zeros on the right and at the bottom.

    Args:
        images: a buffer of images.
        shape: the largest height and width, and the channels.
        dtype: the data type of the batch.
        alignment: height and width of the batch are multiples of it.
        name: without effect.

    Raises:
        MoxValueError: `alignment` is not above 0.
    """
    del name
    source = lists.require(images, "flow.image.batch_align", 3)
    if type(alignment) is not int or alignment < 1:
        raise MoxValueError(
            f"flow.image.batch_align: alignment={shown(alignment)} must be a whole number from 1."
        )
    kind, made = tf.as_dtype(dtype), []
    sides = source.of_each(lambda image: tf.shape(image)[:2], tf.int32)
    for strings, own in zip(source.items, sides, strict=True):
        full = (tf.reduce_max(own, 0) + alignment - 1) // alignment * alignment

        def one(row: tf.Tensor, full: tf.Tensor = full) -> tf.Tensor:
            image = source.opened(row)
            more = full - tf.shape(image)[:2]
            return tf.pad(tf.cast(image, kind), [[0, more[0]], [0, more[1]], [0, 0]])

        with tf.device("/cpu:0"):
            batch = tf.map_fn(one, strings, fn_output_signature=kind)
        batch.set_shape([None, None, None, shape[2]])
        made.append(batch)
    return lists.on_devices(made, (source.count, *shape))


def image_normalize(
    image: TensorList, std: Sequence[float], mean: Sequence[float], name: str | None = None
) -> TensorList:
    """(x - mean) / std of each channel.

    Raises:
        MoxTypeError: the images are not of floating-point numbers.
        MoxValueError: there is not one number for each channel.
    """
    del name
    source = lists.require(image, "flow.image.normalize", 3)
    channels = source.limit[2]
    if not source.kind.is_floating:
        raise MoxTypeError(
            f"flow.image.normalize takes images of floats, not {source.kind.name}: decode them"
            " with dtype=flow.float."
        )
    if channels is not None and {len(std), len(mean)} != {channels}:
        raise MoxValueError(
            f"flow.image.normalize: std={shown(std)}, mean={shown(mean)}; give one number for each"
            f" of the {channels} channels."
        )
    kind = source.kind.as_numpy_dtype
    return source.changed(lambda x: (x - np.asarray(mean, kind)) / np.asarray(std, kind))


def image_flip(image: TensorList, flip_code: Any, name: str | None = None) -> TensorList:
    """Flipped images.

    Args:
        image: a buffer of images.
        flip_code: 0 for nothing, 1 from left to right, 16 upside down, 17 for both; or an int8 blob
            with one for each image.
        name: without effect.

    Raises:
        MoxValueError: a number that is no flip code.
    """
    del name
    source = lists.require(image, "flow.image.flip", 3)

    def one(pixels: tf.Tensor, code: tf.Tensor) -> tf.Tensor:
        turned = tf.where_v2(horizontal(code), tf.reverse(pixels, [1]), pixels)
        return tf.where_v2(vertical(code), tf.reverse(turned, [0]), turned)

    return source.changed(one, others=[codes(flip_code, source, "flow.image.flip")])


__all__ = [
    "image_batch_align",
    "image_decode",
    "image_flip",
    "image_normalize",
    "image_target_resize",
]
