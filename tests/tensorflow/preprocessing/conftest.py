"""Images to augment, and the numpy reference of what the families do to them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import get_data_augmentation_fn


@pytest.fixture
def picture() -> Callable[..., np.ndarray]:
    """`picture(rows, columns, channels=3)`: noise of uint8, the same in every run."""

    def draw(rows: int, columns: int, channels: int = 3) -> np.ndarray:
        random = np.random.default_rng(rows * 1000 + columns)
        return random.integers(0, 256, (rows, columns, channels), dtype=np.uint8)

    return draw


@pytest.fixture
def augment() -> Callable[..., np.ndarray]:
    """`augment(family, mode, image, seed=None, dtype=None, size=(h, w), **options)`."""

    def run(
        family: str,
        mode: str,
        image: np.ndarray,
        seed: Any = None,
        size: tuple[int, int] = (224, 224),
        **options: Any,
    ) -> np.ndarray:
        function = get_data_augmentation_fn(f"{family}_preprocessing", mode, *size, **options)
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(image.dtype, [None, None, image.shape[2]])
            result = function(fed, seed)
            assert result.dtype == tf.float32
            assert result.shape.as_list() == [*size, image.shape[2]]
            return session.run(result, {fed: image})

    return run


@pytest.fixture
def numbers() -> Callable[[int, Any], list[float]]:
    """`numbers(count, seed)`: what TensorFlow's stateless generator gives."""

    def draw(count: int, seed: Any) -> list[float]:
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(tf.random.stateless_uniform([count], seed)).tolist()

    return draw


def _bilinear(image: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Half-pixel centers, edges repeated, in float64.

    TensorFlow's coordinates are float32, so neighbors that differ by 255 may differ by 0.05 here.
    """
    values = image.astype(np.float64)
    for axis, length in ((0, rows), (1, columns)):
        have = values.shape[axis]
        at = np.maximum((np.arange(length) + 0.5) * have / length - 0.5, 0)
        low = np.minimum(np.floor(at).astype(int), have - 1)
        high = np.minimum(low + 1, have - 1)
        share = np.expand_dims(at - low, tuple(range(1, 3 - axis)))
        values = values.take(low, axis) * (1 - share) + values.take(high, axis) * share
    return values


def _window(extent: Any, size: Any, place: Any = None) -> tuple[slice, slice]:
    """Rounded to whole pixels; in the middle, or at one of the equally likely places."""
    parts = []
    for axis in range(2):
        length = int(np.clip(np.round(np.float32(extent[axis])), 1, size[axis]))
        free = size[axis] - length
        first = free // 2 if place is None else int((free + 1) * place[axis])
        parts.append(slice(first, first + length))
    return parts[0], parts[1]


def _framed(image: np.ndarray, first: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    """A frame with its first row and column at `first`, black outside of the image."""
    rows, columns, channels = image.shape
    reach = max(rows, columns, *size) + 8
    canvas = np.zeros((rows + 2 * reach, columns + 2 * reach, channels))
    canvas[reach : reach + rows, reach : reach + columns] = image
    row, column = first[0] + reach, first[1] + reach
    return canvas[row : row + size[0], column : column + size[1]]


@pytest.fixture
def reference() -> SimpleNamespace:
    """The steps in numpy: `bilinear`, `window` and `framed`."""
    return SimpleNamespace(bilinear=_bilinear, window=_window, framed=_framed)
