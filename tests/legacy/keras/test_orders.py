"""Layers compute images with channels first as with channels last, on a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def _values(layers: list, images: np.ndarray) -> np.ndarray:
    """What layers with the same weights make of images, in training."""
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.constant(images)
        for layer in layers:
            tensor = layer(tensor)
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


def _layers(face: Faces, order: str) -> list:
    layers = face.load("keras.layers")
    ones = {"kernel_initializer": "ones", "data_format": order}
    return [
        layers.Conv2D(2, 3, strides=2, padding="same", **ones),
        layers.BatchNormalization(axis=1 if order == "channels_first" else -1, epsilon=0.1),
        layers.MaxPooling2D(2, data_format=order),
        layers.AveragePooling2D((1, 2), data_format=order),
        layers.Conv2DTranspose(3, 2, **ones),
    ]


def test_channels_first_are_computed_as_channels_last(faces: Faces) -> None:
    images = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    last = _values(_layers(faces, "channels_last"), images)
    first = _values(_layers(faces, "channels_first"), images.transpose(0, 3, 1, 2))

    assert last.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), last, rtol=1e-4, atol=1e-5)


def test_a_volume_has_channels_first_too(faces: Faces) -> None:
    layers = faces.load("keras.layers")
    volume = np.arange(2 * 4 * 4 * 4, dtype=np.float32).reshape(1, 2, 4, 4, 4)
    layer = layers.MaxPooling3D(2, data_format="channels_first")
    pooled = _values([layer], volume)
    np.testing.assert_array_equal(pooled, volume[:, :, 1::2, 1::2, 1::2])


@pytest.mark.parametrize("border", ["valid", "same"])
def test_a_deconvolution_of_keras_1_has_the_shape_it_is_told(faces: Faces, border: str) -> None:
    kind = faces.load("keras.layers").Deconvolution2D
    shape = (None, 15, 15, 4) if border == "valid" else (None, 13, 14, 4)
    layer = kind(4, 2, 2, shape, border_mode=border, subsample=(2, 2))
    with tf.Graph().as_default():
        made = layer(tf.ones([3, 7, 7, 2]))
        assert made.shape.as_list()[1:] == list(shape[1:])
