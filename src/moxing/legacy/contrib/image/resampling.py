"""`tf.contrib.resampler`: reads images between their pixels.

Written from the definition of bilinear interpolation; pixels outside of an image are 0, as
TensorFlow 1.x documents.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.image import bilinear


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Reads each image at its own places, by bilinear interpolation.

    Args:
        data: a float tensor of shape [batch, height, width, channels].
        warp: a tensor of the same dtype, of shape [batch, ..., 2]: places (x, y) in pixels.
        name: the name of the operations.

    Returns:
        A tensor of shape [batch, ..., channels], with gradients to data and warp.

    Raises:
        MoxValueError: data does not have four dimensions, or warp has not two values for a place.
    """
    with tf.name_scope(name):
        data = tf.convert_to_tensor(data)
        warp = tf.convert_to_tensor(warp, data.dtype)
        if data.shape.ndims not in (None, 4):
            raise MoxValueError(
                f"data of resampler has the shape {data.shape}, but must have four dimensions:"
                " [batch, height, width, channels]."
            )
        if tf.dimension_value(warp.shape[-1]) not in (None, 2):
            raise MoxValueError(f"warp has {warp.shape[-1]} values for a place, but must have 2.")
        shape = tf.shape(data)
        places = tf.reshape(warp, [shape[0], -1, 2])
        columns = _bordered(places[..., 0], shape[2])
        rows = _bordered(places[..., 1], shape[1])
        with_border = tf.pad(data, [[0, 0], [1, 2], [1, 2], [0, 0]])
        found = bilinear.read(with_border, rows, columns)
        found = tf.reshape(found, tf.concat([tf.shape(warp)[:-1], shape[3:]], 0))
        found.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return found


def _bordered(at: Any, size: Any) -> tuple[Any, Any]:
    """Finds a coordinate's pixels in images that have a border of zeros: 1 in front, 2 behind.

    Args:
        at: coordinates.
        size: the number of pixels along this axis, without the border.

    Returns:
        The pixel at or before each coordinate, and the weight of the next pixel. Coordinates that
        are a pixel or more outside of the image get both pixels of the border behind it.
    """
    # Clipped before it is an integer: coordinates may be larger than integers are.
    first = tf.clip_by_value(tf.floor(at), -1, tf.cast(size, at.dtype))
    inside = (at > -1) & (at < tf.cast(size, at.dtype))
    pixel = tf.where(inside, tf.cast(first, tf.int32), tf.fill(tf.shape(at), size))
    return pixel + 1, at - tf.stop_gradient(tf.floor(at))
