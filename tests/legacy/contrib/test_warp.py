"""Warped images against SciPy's interpolation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib import image as contrib_image


def test_pixels_are_read_where_the_flow_says() -> None:
    random = np.random.default_rng(0)
    image = random.normal(size=[2, 4, 5, 3]).astype(np.float32)
    flow = random.normal(scale=3, size=[2, 4, 5, 2]).astype(np.float32)
    flow[0, 0, :3, 0] = [1e12, -1e12, 2]
    with tf.Graph().as_default(), tf.Session() as session:
        fed, moved = (tf.placeholder(tf.float32, [None, None, None, n]) for n in (3, 2))
        warped = contrib_image.dense_image_warp(fed, moved)
        slopes = tf.gradients(tf.reduce_sum(warped), [fed, moved])
        found, (on_image, on_flow) = session.run([warped, slopes], {fed: image, moved: flow})

    grid = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1)
    for n in range(2):
        for c in range(3):
            where = np.moveaxis(grid - flow[n].astype(float), -1, 0)
            wanted = scipy.ndimage.map_coordinates(image[n, ..., c], where, order=1, mode="nearest")
            np.testing.assert_allclose(found[n, ..., c], wanted, atol=1e-5)
    # The weights of a pixel's four neighbors sum to one.
    np.testing.assert_allclose(on_image.sum((1, 2)), np.full([2, 3], 20.0), rtol=1e-5)
    assert on_flow.any()
    assert not on_flow[0, 0, :2, 0].any()


def test_wrong_shapes_are_named() -> None:
    with tf.Graph().as_default():
        with pytest.raises(
            MoxValueError, match=r"image of dense_image_warp has the shape \(4, 5\)"
        ):
            contrib_image.dense_image_warp(tf.zeros([4, 5]), tf.zeros([1, 4, 5, 2]))
        with pytest.raises(MoxValueError, match="flow has 3 values"):
            contrib_image.dense_image_warp(tf.zeros([1, 4, 5, 1]), tf.zeros([1, 4, 5, 3]))
