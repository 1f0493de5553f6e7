"""The few operations on pixels that the families share, each the fastest that TensorFlow has."""

from __future__ import annotations

import math

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing.plan import Plan

# Weights of red, green and blue in the luma of ITU-R BT.601.
_LUMA = (0.299, 0.587, 0.114)


def cut(image: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """The part of an image [h, w, c] that a window shows."""
    row, column, rows, columns = tf.unstack(window, num=4)
    return image[row : row + rows, column : column + columns]


def flip(image: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """The mirror image, left for right, if the number of [0, 1) is below a half."""
    # Reversing along no axis is the identity; unlike tf.cond it needs no control flow.
    axes = tf.constant([1])[: tf.cast(number < 0.5, tf.int32)]
    return tf.reverse(image, axes)


def resize(image: tf.Tensor, output: tuple[int, int]) -> tf.Tensor:
    """The image at size `output`, bilinear with half-pixel centers, as float32.

    Whole numbers and floats give the same bits.
    """
    # The kernel reads any type, but floats so much faster that the cast costs less than it saves.
    floats = tf.cast(image, tf.float32)[tf.newaxis]
    return tf.image.resize_bilinear(floats, output, half_pixel_centers=True)[0]


def pad(image: tf.Tensor, plan: Plan) -> tf.Tensor:
    """The float32 image with the plan's black borders."""
    borders = tf.pad(plan.padding, [[0, 1], [0, 0]])
    return tf.pad(tf.cast(image, tf.float32), borders)


def recolor(
    image: tf.Tensor,
    brightness: tf.Tensor,
    saturation: tf.Tensor,
    hue: tf.Tensor | None = None,
    contrast: tf.Tensor | None = None,
) -> tf.Tensor:
    """A float32 image [h, w, c] of static shape with other colors, cut to 0..255.

    All four are linear in RGB and commute, so that one matrix and one offset do it, in a tenth of
    the time of the way through HSV.

    Args:
      image: values 0 to 255. Saturation and hue need c = 3; without it they have no effect.
      brightness: is added.
      saturation: factor of the distance of each pixel from its luma.
      hue: angle, in turns, by which the chroma is rotated; None for 0.
      contrast: factor of the distance of each channel from its mean; None for 1.
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
    """Luma L stays: M = L + saturation (cos(angle) (1 - L) + sin(angle) T)."""
    luma = tf.constant([_LUMA] * 3)
    chroma = tf.eye(3) - luma
    if hue is not None:
        angle = 2.0 * math.pi * hue
        chroma = tf.cos(angle) * chroma + tf.sin(angle) * tf.constant(_TURN)
    return luma + saturation * chroma


def _quarter_turn() -> list[list[float]]:
    """T: from RGB to YIQ, a quarter turn in the plane of I and Q, and back."""
    to_yiq = np.array([_LUMA, (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112)])
    turn = np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    return (np.linalg.inv(to_yiq) @ turn @ to_yiq).tolist()


_TURN = _quarter_turn()
