"""`tf.contrib.image.dense_image_warp`: moves each pixel of an image by a vector of its own.

Written from the definition of bilinear interpolation; places outside of an image are moved to its
border, as TensorFlow 1.x documents.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.image import bilinear


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Reads output pixel (y, x) at the input's (y - flow[..., 0], x - flow[..., 1]).

    Args:
        image: a float tensor of shape [batch, height, width, channels], with 2 or more rows and
            columns.
        flow: a float tensor of shape [batch, height, width, 2], in pixels.
        name: the name of the operations.

    Returns:
        A tensor of the shape and dtype of `image`, with gradients to the image and the flow.

    Raises:
        MoxValueError: image or flow does not have four dimensions, or flow has not two values for a
            pixel.
    """
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        for label, tensor in (("image", image), ("flow", flow)):
            if tensor.shape.ndims not in (None, 4):
                raise MoxValueError(
                    f"{label} of dense_image_warp has the shape {tensor.shape}, but must have four"
                    " dimensions: [batch, height, width, channels]."
                )
        if tf.dimension_value(flow.shape[-1]) not in (None, 2):
            raise MoxValueError(f"flow has {flow.shape[-1]} values for a pixel, but must have 2.")
        shape = tf.shape(image)
        rows, columns = tf.meshgrid(tf.range(shape[1]), tf.range(shape[2]), indexing="ij")
        warped = bilinear.read(
            image,
            _inside(tf.cast(rows, flow.dtype) - flow[..., 0], shape[1], image.dtype),
            _inside(tf.cast(columns, flow.dtype) - flow[..., 1], shape[2], image.dtype),
        )
        warped.set_shape(image.shape)
        return warped


def _inside(at: Any, size: Any, dtype: tf.DType) -> tuple[Any, Any]:
    """Finds a coordinate's pixels; coordinates outside of the image are moved to its border.

    Args:
        at: coordinates.
        size: the number of pixels along this axis, 2 or more.
        dtype: the dtype of the weights.

    Returns:
        The pixel at or before each coordinate, but the last pixel but one at most, and the weight
        of the next pixel.
    """
    # Clipped before it is an integer: a flow may be larger than integers are.
    last = tf.cast(size - 2, at.dtype)
    first = tf.minimum(tf.maximum(tf.floor(at), 0), last)
    weight = tf.clip_by_value(at - first, 0, 1)
    return tf.cast(first, tf.int32), tf.cast(weight, dtype)
