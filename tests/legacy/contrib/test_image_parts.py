"""Pairs of contrib.image and places of contrib.resampler, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.image import matching, resampling


def _greedy(distances: np.ndarray, valid: int, pairs: int) -> tuple[list[int], list[int]]:
    """The definition: all pairs by distance, each row and column once."""
    rows, columns = distances.shape
    of_rows, of_columns = [-1] * rows, [-1] * columns
    for place in np.argsort(distances, axis=None, kind="stable"):
        row, column = divmod(int(place), columns)
        if row < valid and pairs and of_rows[row] < 0 > of_columns[column]:
            of_rows[row], of_columns[column] = column, row
            pairs -= 1
    return of_rows, of_columns


@pytest.mark.parametrize(
    ("shape", "valid", "top_k"), [((4, 6), -1, -1), ((6, 4), 3, -1), ((5, 5), 5, 2), ((3, 2), 0, 1)]
)
def test_rows_and_columns_are_paired_nearest_first(
    shape: tuple[int, int], valid: int, top_k: int
) -> None:
    distances = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    distances[0, 0] = np.inf
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [None, shape[1]])
        matched = matching.bipartite_match(fed, tf.constant([float(valid)]), top_k)
        found = session.run(matched, {fed: distances})

    assert matched[1].shape == (shape[1],)
    wanted = _greedy(distances, shape[0] if valid < 0 else valid, 99 if top_k < 0 else top_k)
    assert [array.tolist() for array in found] == list(wanted)


def test_images_are_read_between_pixels_and_are_zero_outside() -> None:
    random = np.random.default_rng(0)
    data = random.normal(size=[2, 4, 5, 3])
    warp = random.uniform(-1.5, 5.5, size=[2, 3, 7, 2])
    warp[0, 0, :4] = [[1e9, 0], [-1, 2], [4, 3], [0.5, 3.5]]
    with tf.Graph().as_default(), tf.Session():
        images, places = tf.constant(data), tf.constant(warp)
        read = resampling.resampler(images, places)
        found = read.eval()
        inside = tf.constant(np.clip(warp[:, :1], 0.1, 2.9))
        errors = [
            tf.test.compute_gradient_error(x, x.shape, resampling.resampler(images, inside), shape)
            for x, shape in ((images, (2, 1, 7, 3)), (inside, (2, 1, 7, 3)))
        ]

    for n in range(2):
        for c in range(3):
            where = [np.maximum(np.minimum(warp[n, ..., axis], 99), -99) for axis in (1, 0)]
            wanted = scipy.ndimage.map_coordinates(
                data[n, ..., c], where, order=1, mode="grid-constant"
            )
            np.testing.assert_allclose(found[n, ..., c], wanted, atol=1e-9)
    assert max(errors) < 1e-6
    with tf.Graph().as_default(), pytest.raises(MoxValueError, match="warp has 3 values"):
        resampling.resampler(data, np.zeros([2, 3]))
