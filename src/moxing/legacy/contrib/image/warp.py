"""`tf.contrib.image.dense_image_warp`: images whose pixels are read from places of their own.

Written from the definition of bilinear interpolation; places outside of an image are moved to its
border, as TensorFlow 1.x documents.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Reads output pixel (y, x) at the input's (y - flow[..., 0], x - flow[..., 1]).

    Args:
        image: a float tensor of shape [batch, height, width, channels], with 2 or more rows and
            columns.
        flow: a float tensor of shape [batch, height, width, 2], in pixels.
        name: of the operations.

    Returns:
        A tensor of the shape and dtype of `image`, with gradients to the image and the flow.

    Raises:
        MoxValueError: image or flow does not have four dimensions, or the flow not two values.
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
        upper, down = _place(tf.cast(rows, flow.dtype) - flow[..., 0], shape[1])
        left, right = _place(tf.cast(columns, flow.dtype) - flow[..., 1], shape[2])
        down, right = (tf.cast(part, image.dtype)[..., None] for part in (down, right))

        def read(below: int, beside: int) -> Any:
            where = tf.stack([upper + below, left + beside], axis=-1)
            return tf.gather_nd(image, where, batch_dims=1)

        above = read(0, 0) * (1 - right) + read(0, 1) * right
        under = read(1, 0) * (1 - right) + read(1, 1) * right
        warped = above * (1 - down) + under * down
        warped.set_shape(image.shape)
        return warped


def _place(at: Any, size: Any) -> tuple[Any, Any]:
    """Returns the pixel before a place, of which there is a next one, and the part beyond it."""
    # Compared before it is an integer: a flow may be larger than integers are.
    last = tf.cast(size - 2, at.dtype)
    first = tf.minimum(tf.maximum(tf.floor(at), 0), last)
    return tf.cast(first, tf.int32), tf.clip_by_value(at - first, 0, 1)
