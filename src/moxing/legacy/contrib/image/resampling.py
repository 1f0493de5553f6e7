"""`tf.contrib.resampler`: reads images between their pixels.

Written from the definition of bilinear interpolation; pixels outside of an image are 0, as
TensorFlow 1.x documents.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Reads images at places of their own, by bilinear interpolation.

    Args:
        data: a float tensor of shape [batch, height, width, channels].
        warp: a tensor of the same dtype, of shape [batch, ..., 2]: places (x, y) in pixels.
        name: of the operations.

    Returns:
        A tensor of shape [batch, ..., channels], with gradients to data and warp.

    Raises:
        MoxValueError: data does not have four dimensions, or warp not two values for a place.
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
        x, left = _before(places[..., 0], shape[2])
        y, upper = _before(places[..., 1], shape[1])
        # A border of zeros: a place outside of it has weights of pixels in it only.
        bordered = tf.pad(data, [[0, 0], [1, 2], [1, 2], [0, 0]])

        def read(below: int, beside: int, weight: Any) -> Any:
            where = tf.stack([y + 1 + below, x + 1 + beside], axis=-1)
            return tf.gather_nd(bordered, where, batch_dims=1) * weight[..., None]

        found = (
            read(0, 0, upper * left)
            + read(0, 1, upper * (1 - left))
            + read(1, 0, (1 - upper) * left)
            + read(1, 1, (1 - upper) * (1 - left))
        )
        found = tf.reshape(found, tf.concat([tf.shape(warp)[:-1], shape[3:]], 0))
        found.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return found


def _before(at: Any, size: Any) -> tuple[Any, Any]:
    """Returns the pixel at or before a place, and its weight; outside, pixels of the border."""
    first = tf.clip_by_value(tf.floor(at), -1, tf.cast(size, at.dtype))
    inside = (at > -1) & (at < tf.cast(size, at.dtype))
    place = tf.where(inside, tf.cast(first, tf.int32), tf.fill(tf.shape(at), size))
    return place, 1 - (at - tf.stop_gradient(tf.floor(at)))
