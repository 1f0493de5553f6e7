"""Converts a program's images to the tensor that the first layer reads."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError

_COMPUTE_DTYPES = (tf.float32, tf.float16, tf.bfloat16)


def as_batch(images: Any, name: str) -> tf.Tensor:
    """Returns `images` as a float tensor of shape [batch, height, width, channels].

    Integers become float32; float32, float16 and bfloat16 keep their dtype.
    """
    images = tf.convert_to_tensor(images)
    _check_shape(images, name, 3)
    return _as_float(images, name)


def as_preprocessed(
    images: Any, before: tf.Tensor, data_format: str, name: str
) -> tuple[tf.Tensor, str]:
    """Returns the result of a program's `preprocess_fn` on NHWC images `before`, and its layout.

    With `data_format="NCHW"`, some programs transpose images in that function and some don't; the
    position of the channels axis shows which.
    """
    images = tf.convert_to_tensor(images)
    name = f"{name} after preprocess_fn"
    moved = (
        data_format == "NCHW"
        and images.shape.rank == 4
        and images.shape[1] == before.shape[3]
        and images.shape[3] != before.shape[3]
    )
    _check_shape(images, name, 1 if moved else 3)
    return _as_float(images, name), "NCHW" if moved else "NHWC"


def _check_shape(images: tf.Tensor, name: str, channel_axis: int) -> None:
    if images.shape.rank != 4 or images.shape[channel_axis] is None:
        raise MoxValueError(
            f"{name} takes images of shape [batch, height, width, channels] with a known number "
            f"of channels, not {_shape_text(images)}; batch the images, or give them their shape "
            "with images.set_shape([None, height, width, 3])"
        )


def _as_float(images: tf.Tensor, name: str) -> tf.Tensor:
    if images.dtype.is_integer:
        return tf.cast(images, tf.float32)
    if images.dtype not in _COMPUTE_DTYPES:
        raise MoxTypeError(
            f"{name} takes images of whole numbers, float32, float16 or bfloat16, not "
            f"{images.dtype.name}; convert them with tf.cast(images, tf.float32)"
        )
    return images


def static_size(images: tf.Tensor) -> tuple[int, int] | None:
    """Returns (height, width) of NHWC images, or None if either is unknown before the run."""
    height, width = images.shape.as_list()[1:3]
    return None if height is None or width is None else (height, width)


def resize(images: tf.Tensor, size: tuple[int, int]) -> tf.Tensor:
    """Resizes NHWC images to `size` with bilinear interpolation, if they have another size."""
    if static_size(images) == size:
        return images
    resized = tf.image.resize_bilinear(images, size, half_pixel_centers=True)
    return tf.cast(resized, images.dtype)


def to_layout(images: tf.Tensor, current: str, wanted: str) -> tf.Tensor:
    """Transposes `images` to the layout `wanted`; layouts are "NHWC" and "NCHW"."""
    if current == wanted:
        return images
    return tf.transpose(images, [0, 3, 1, 2] if wanted == "NCHW" else [0, 2, 3, 1])


def _shape_text(images: tf.Tensor) -> str:
    return "an unknown shape" if images.shape.rank is None else str(images.shape.as_list())
