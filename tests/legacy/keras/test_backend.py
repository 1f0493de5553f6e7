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


def test_the_backend_has_the_modules_that_it_imported(faces: Faces) -> None:
    """As custom losses used them, without an import of their own."""
    K = faces.load("keras.backend")  # noqa: N806
    with tf.Graph().as_default(), tf.Session() as session:
        counted, total = K.control_flow_ops.while_loop(
            lambda n, total: n < 4, lambda n, total: (n + 1, total + n), [0, 0]
        )
        array = K.tensor_array_ops.TensorArray(K.tf.float32, size=1).write(0, 7.0)
        averaged = K.moving_averages.assign_moving_average(tf.Variable(1.0), 3.0, 0.5)
        doubled = K.functional_ops.map_fn(lambda x: 2 * x, K.tf_ops.convert_to_tensor([1, 2]))
        session.run(tf.global_variables_initializer())
        found = session.run([counted, total, array.read(0), averaged, doubled])

    assert found[:2] == [4, 6]
    assert found[2] == 7
    assert found[4].tolist() == [2, 4]
    assert callable(K.ctc.ctc_loss)
    assert K.np.float(3) == 3.0


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


def test_a_model_may_end_in_a_loss_without_axes(faces: Faces) -> None:
    """As detectors compute their loss in a Lambda layer, and compile with the identity."""
    K, layers = faces.load("keras.backend"), faces.load("keras.layers")  # noqa: N806
    with tf.Graph().as_default(), tf.Session() as session:
        K.set_session(session)
        x = layers.Input((2,))
        made = layers.Dense(1, kernel_initializer="ones", use_bias=False)(x)
        ends = layers.Lambda(lambda y: K.sum(y), output_shape=(1,), name="loss_layer")(made)
        model = faces.load("keras.models").Model(x, ends)
        model.compile("sgd", loss={"loss_layer": lambda y_true, y_pred: y_pred})
        assert model.train_on_batch(np.ones((3, 2)), np.zeros(3)) == 6.0
        np.testing.assert_allclose(model.get_weights()[0], np.full((2, 1), 1 - 0.01 * 3), rtol=1e-6)


@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
@pytest.mark.parametrize(
    "module",
    [
        *("layers.core", "layers.recurrent", "engine.topology", "engine.training", "models"),
        *("callbacks", "losses", "metrics", "regularizers", "initializers", "activations"),
    ],
)
def test_modules_know_the_backend_as_k(faces: Faces, keras: str, module: str) -> None:
    shown = faces.load(f"{keras}.{module}")

    assert shown.K is faces.load(f"{keras}.backend")
    assert "K" in dir(shown)


def test_these_modules_have_their_own_names_too(faces: Faces) -> None:
    for module, name in (
        ("callbacks", "ModelCheckpoint"),
        ("losses", "mean_squared_error"),
        ("metrics", "categorical_accuracy"),
        ("regularizers", "l2"),
        ("initializers", "glorot_uniform"),
        ("activations", "softmax"),
    ):
        assert callable(getattr(faces.load(f"keras.{module}"), name))
