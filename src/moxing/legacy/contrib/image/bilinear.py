"""Bilinear interpolation: values of images between their pixels."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def read(images: Any, rows: tuple[Any, Any], columns: tuple[Any, Any]) -> Any:
    """Reads images at places between their pixels.

    A place lies in the square of four pixels: in a row, in the next row, in a column, and in the
    next column.

    Args:
        images: a tensor of shape [batch, height, width, channels].
        rows: for each place the number of the first of both rows, an integer tensor of shape
            [batch, ...], and the weight of the second row, from 0 to 1, of the dtype of `images`.
        columns: for each place the number of the first column and the weight of the second column.

    Returns:
        A tensor of shape [batch, ..., channels], with gradients to the images and the weights.
    """
    (row, down), (column, right) = rows, columns
    down, right = down[..., None], right[..., None]

    def pixels(below: int, beside: int) -> Any:
        return tf.gather_nd(images, tf.stack([row + below, column + beside], -1), batch_dims=1)

    upper = pixels(0, 0) * (1 - right) + pixels(0, 1) * right
    lower = pixels(1, 0) * (1 - right) + pixels(1, 1) * right
    return upper * (1 - down) + lower * down
