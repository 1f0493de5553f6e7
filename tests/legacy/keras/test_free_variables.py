"""Variables that no layer holds, in models of Keras 2, and modules of its applications."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.keras.building.trace import eager_mode
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def test_models_use_variables_that_no_layer_holds(faces: Faces) -> None:
    """Keras 2's session initialized all variables of its graph, and trained those of layers."""
    keras = faces.load("keras")
    anchors = np.array([1.0, 2.0, 3.0], np.float32)
    with tf.Graph().as_default():
        outside = tf.Variable(5.0)
        given = keras.layers.Input((3,))
        inside = keras.layers.Lambda(lambda x: tf.Variable(anchors) + 0 * x)(given)
        scaled = keras.layers.Lambda(lambda pair: pair[0] * pair[1] * outside)([given, inside])
        model = keras.models.Model(given, keras.layers.Dense(1, use_bias=False)(scaled))
        model.compile("sgd", "mse")
        ones = np.ones([2, 3], np.float32)
        [[first], _] = model.predict(ones)
        [kernel] = model.get_weights()
        model.train_on_batch(ones, np.zeros([2, 1], np.float32))
        kept = keras.backend.get_session().run(outside)
        [trained] = model.get_weights()

    assert first == pytest.approx(float((5 * anchors) @ kernel[:, 0]), rel=1e-5)
    assert kept == 5.0
    assert not np.allclose(trained, kernel)


def test_eager_lambda_layers_still_refuse_variables_of_their_own() -> None:
    from tf_keras.src.layers.core.lambda_layer import Lambda

    with eager_mode(), pytest.raises(ValueError, match="created within a Lambda layer"):
        Lambda(lambda x: tf.Variable(2.0) * x)(np.ones([1], np.float32))


@pytest.mark.parametrize("name", ["mobilenet", "resnet50", "xception"])
def test_modules_of_applications_hold_their_own_names(faces: Faces, name: str) -> None:
    """As `from keras.applications.mobilenet import mobilenet` took the code of Keras 2.2."""
    module = faces.load(f"keras.applications.{name}")

    assert getattr(module, name) is module
    assert callable(module.preprocess_input)


@pytest.mark.parametrize("name", ["mobilenet", "mobilenet_v2"])
def test_saved_models_of_mobilenet_find_their_parts(faces: Faces, name: str) -> None:
    module = faces.load(f"keras.applications.{name}")
    parts = {"relu6": module.relu6, "DepthwiseConv2D": module.DepthwiseConv2D}

    layer = faces.load("keras.layers").Activation.from_config({"activation": module.relu6})
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(layer(tf.constant([-1.0, 3.0, 9.0]))).tolist() == [0, 3, 6]
    assert parts["relu6"].__name__ == "relu6"
    assert parts["DepthwiseConv2D"] is faces.load("keras.layers").DepthwiseConv2D
