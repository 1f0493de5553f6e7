"""The pixel operations that the families share, each by TensorFlow's fastest method."""

from __future__ import annotations

import math

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing.plan import Plan

# Weights of red, green and blue in the luma of ITU-R BT.601.
_LUMA = (0.299, 0.587, 0.114)


def cut(image: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """Returns the part of an image [h, w, c] in a window."""
    row, column, rows, columns = tf.unstack(window, num=4)
    return image[row : row + rows, column : column + columns]


def flip(image: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Mirrors the image horizontally if the number in [0, 1) is below a half."""
    # Reversing along no axis is the identity; unlike tf.cond it needs no control flow.
    axes = tf.constant([1])[: tf.cast(number < 0.5, tf.int32)]
    return tf.reverse(image, axes)


def resize(image: tf.Tensor, output: tuple[int, int]) -> tf.Tensor:
    """Resizes the image to `output`, bilinear with half-pixel centers, as float32.

    Integers and floats give bitwise equal results.
    """
    # The kernel reads any dtype, but is so much faster for floats that the cast pays off.
    floats = tf.cast(image, tf.float32)[tf.newaxis]
    return tf.image.resize_bilinear(floats, output, half_pixel_centers=True)[0]


def pad(image: tf.Tensor, plan: Plan) -> tf.Tensor:
    """Returns the float32 image with the plan's black borders."""
    borders = tf.pad(plan.padding, [[0, 1], [0, 0]])
    return tf.pad(tf.cast(image, tf.float32), borders)


def recolor(
    image: tf.Tensor,
    brightness: tf.Tensor,
    saturation: tf.Tensor,
    hue: tf.Tensor | None = None,
    contrast: tf.Tensor | None = None,
) -> tf.Tensor:
    """Changes the colors of a float32 image [h, w, c] of static shape, clipped to 0..255.

    All four changes are linear in RGB and commute, so one matrix and one offset are enough, in a
    tenth of the time of a conversion to HSV and back.

    Args:
      image: the image, with values from 0 to 255. Saturation and hue have no effect unless c = 3.
      brightness: the number that is added.
      saturation: the factor of each pixel's distance from its luma.
      hue: the angle, in turns, by which the chroma is rotated; None: 0.
      contrast: the factor of each channel's distance from its mean; None: 1.
    """
    colored = image
    if image.shape[2] == 3:
        matrix = _chroma_matrix(saturation, hue)
        flat = tf.matmul(tf.reshape(image, [-1, 3]), matrix, transpose_b=True)
        colored = tf.reshape(flat, image.shape)
    if contrast is not None:
        mean = tf.reduce_mean(colored, [0, 1], keepdims=True)
        colored = contrast * (colored - mean) + mean
    return tf.clip_by_value(colored + brightness, 0.0, 255.0)


def _chroma_matrix(saturation: tf.Tensor, hue: tf.Tensor | None) -> tf.Tensor:
    """Returns M = L + saturation (cos(angle) (1 - L) + sin(angle) T), which keeps the luma L."""
    luma = tf.constant([_LUMA] * 3)
    chroma = tf.eye(3) - luma
    if hue is not None:
        angle = 2.0 * math.pi * hue
        chroma = tf.cos(angle) * chroma + tf.sin(angle) * tf.constant(_TURN)
    return luma + saturation * chroma


def _quarter_turn() -> list[list[float]]:
    """Returns T: the conversion of RGB to YIQ, a quarter turn in the I-Q plane, and back."""
    to_yiq = np.array([_LUMA, (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112)])
    turn = np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    return (np.linalg.inv(to_yiq) @ turn @ to_yiq).tolist()


_TURN = _quarter_turn()
