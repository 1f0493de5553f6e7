"""Image files, trees of them, and a loop that reads a data set to its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.data.feed import Feed

_ENCODED: dict[Any, bytes] = {}  # Many tests make the same images.


def _encode(pixels: np.ndarray, kind: str = "jpeg", **options: Any) -> bytes:
    key = pixels.tobytes(), pixels.shape, pixels.dtype, kind, *options.items()
    if key not in _ENCODED:
        function = {"jpeg": tf.io.encode_jpeg, "png": tf.io.encode_png}[kind]
        with tf.Graph().as_default(), tf.Session() as session:
            _ENCODED[key] = session.run(function(tf.constant(pixels), **options))
    return _ENCODED[key]


@pytest.fixture(scope="session")
def encode() -> Callable[..., bytes]:
    """`encode(pixels, "jpeg" or "png")`: the content of an image file."""
    return _encode


def _smooth(rows: int, columns: int, shade: int) -> np.ndarray:
    ramp = np.linspace(0, 120, rows)[:, None] + np.linspace(0, 100, columns)[None, :]
    return np.stack([ramp, ramp[::-1], np.full_like(ramp, shade)], 2).astype(np.uint8)


@pytest.fixture(scope="session")
def smooth() -> Callable[..., np.ndarray]:
    """`smooth(rows, columns, shade)`: an image that JPEG changes little; blue is `shade`."""
    return _smooth


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Path]:
    """`make_tree({"daisy": 3, "roses": 2})`: a tree of JPEG files of different sizes, `0.jpg` ff.

    In each image blue is its number over all classes.
    """

    def make(classes: dict[str, int], base: str = "images") -> Path:
        number = 0
        for name, count in classes.items():
            folder = tmp_path / base / name
            folder.mkdir(parents=True)
            for index in range(count):
                content = _encode(_smooth(20 + index, 30 - index, number))
                (folder / f"{index}.jpg").write_bytes(content)
                number += 1
        return tmp_path / base

    return make


@contextmanager
def _in_run(demand: Feed | None) -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        if demand is not None:
            feed.announce(demand)
        yield session


@pytest.fixture
def read() -> Callable[..., list[list[Any]]]:
    """`read(make_dataset, items, demand=None, most=1000)`: rows of items until the data ends.

    `make_dataset` is called in the graph of a run that demands `demand`.
    """

    def run(
        make_dataset: Callable[[], Any],
        items: Sequence[str],
        demand: Feed | None = None,
        most: int = 1000,
    ) -> list[list[Any]]:
        rows = []
        with _in_run(demand) as session:
            tensors = make_dataset().get(items)
            try:
                while len(rows) < most:
                    rows.append(session.run(tensors))
            except tf.errors.OutOfRangeError:
                pass
        return rows

    return run


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """`messages()`: what was logged so far."""
    caplog.set_level(logging.INFO, "tensorflow")
    return lambda: [record.getMessage() for record in caplog.records]
