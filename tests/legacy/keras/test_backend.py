"""Functions of Keras' backend that take the arguments of Keras 1."""

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


def test_the_backend_takes_the_arguments_of_keras_1(faces: Faces) -> None:
    K = faces.load("keras.backend")  # noqa: N806, the name that programs know
    with tf.Graph().as_default(), tf.Session() as session:
        ones = tf.ones([1, 4, 4, 1])
        made = [
            K.random_normal((1000,), mean=3.0, std=0.001),
            K.random_uniform((1000,), low=2.0, high=3.0),
            K.conv2d(ones, tf.ones([3, 3, 1, 1]), border_mode="valid", dim_ordering="tf"),
            K.pool2d(ones, (2, 2), (2, 2), border_mode="same", pool_mode="avg"),
            K.resize_images(X=ones, height_factor=2, width_factor=2, dim_ordering="tf"),
        ]
        normal, uniform, convolved, pooled, resized = session.run(made)

    np.testing.assert_allclose(normal.mean(), 3, atol=0.01)
    assert 2 <= uniform.min() <= uniform.max() < 3
    assert convolved.shape == (1, 2, 2, 1)
    assert convolved[0, 0, 0, 0] == 9
    assert pooled.shape == (1, 2, 2, 1)
    assert resized.shape == (1, 8, 8, 1)


def test_samples_of_arrays_are_cut_as_keras_1_cut_them(faces: Faces) -> None:
    cut = faces.load("keras.engine.training").slice_X
    assert cut(np.arange(5), 1, 3).tolist() == [1, 2]
    assert [part.tolist() for part in cut([np.arange(5), np.arange(5, 10)], 3)] == [[3, 4], [8, 9]]
    assert cut(np.arange(5), np.array([0, 4])).tolist() == [0, 4]


def test_products_of_four_axes_are_those_of_matrices(faces: Faces) -> None:
    K = faces.load("keras.backend")  # noqa: N806
    random = np.random.default_rng(0)
    q, k = random.normal(size=(2, 3, 5, 4)), random.normal(size=(2, 3, 6, 4))
    c = random.normal(size=(2, 3, 6))
    with tf.Graph().as_default(), tf.Session() as session:
        scores = K.batch_dot(tf.constant(q), tf.constant(k), axes=[3, 3])
        capsules = K.batch_dot(tf.constant(c), tf.constant(k), [2, 2])
        flat = K.batch_dot(tf.constant(c), tf.constant(c), axes=[2, 2])
        found = session.run([scores, capsules, flat])

    np.testing.assert_allclose(found[0], np.einsum("bhid,bhjd->bhij", q, k))
    np.testing.assert_allclose(found[1], np.einsum("bhi,bhid->bhd", c, k))
    np.testing.assert_allclose(found[2], np.einsum("bid,bjd->bij", c, c))


def test_optimizers_have_their_lower_names(faces: Faces) -> None:
    optimizers = faces.load("keras.optimizers")
    assert optimizers.rmsprop is optimizers.RMSprop
    assert optimizers.adam(learning_rate=0.1).get_config()["name"] == "Adam"
