"""Decodes the files of images, as the original does."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def pixels_of(content: tf.Tensor, channels: int = 3) -> tf.Tensor:
    """The pixels of the file of an image: uint8 [height, width, channels], RGB.

    A JPEG file is decoded by the exact transform, as the original's OpenCV does. TensorFlow's
    default is another one, whose values differ by 1 on average.
    """

    def jpeg() -> tf.Tensor:
        return tf.io.decode_jpeg(content, channels, dct_method="INTEGER_ACCURATE")

    def other() -> tf.Tensor:
        return tf.io.decode_image(content, channels, expand_animations=False)

    pixels = tf.cond(tf.image.is_jpeg(content), jpeg, other)
    pixels.set_shape([None, None, channels])
    return pixels
