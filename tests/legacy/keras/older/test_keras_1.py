"""Regularizers, metrics and helpers of Keras 1, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.keras.older import keras_1

_TRUE = np.array([1, 1, 1, 0, 0, 1, 0, 0], np.float32)
_FOUND = np.array([0.9, 0.8, 0.2, 0.1, 0.7, 0.6, 0.3, 0.9], np.float32)  # TP 3, FN 1, FP 2, TN 2.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("precision", 3 / 5),
        ("recall", 3 / 4),
        ("fmeasure", 2 * 0.6 * 0.75 / 1.35),
        ("matthews_correlation", (3 * 2 - 2 * 1) / np.sqrt(5 * 4 * 4 * 3)),
    ],
)
def test_metrics_count_over_a_batch(name: str, value: float) -> None:
    metric = getattr(keras_1, name)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(metric(tf.constant(_TRUE), tf.constant(_FOUND))) == pytest.approx(value)


def test_recall_weighs_more_with_a_larger_beta() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        score = keras_1.fbeta_score(tf.constant(_TRUE), tf.constant(_FOUND), beta=2)
        none = keras_1.fbeta_score(tf.zeros([4]), tf.ones([4]))
        found = session.run([score, none])
    assert found == pytest.approx([5 * 0.6 * 0.75 / (4 * 0.6 + 0.75), 0])
    with pytest.raises(MoxValueError, match="beta is -1"):
        keras_1.fbeta_score(_TRUE, _FOUND, beta=-1)


def test_a_model_takes_the_metrics_by_name_and_regularizers_of_outputs() -> None:
    keras = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues()).load("keras")
    with tf.Graph().as_default(), tf.Session():
        layer = keras.layers.Dense(
            1,
            input_dim=1,
            init="one",
            W_regularizer=keras.regularizers.l1l2(l1=0.5, l2=0.25),
            activity_regularizer=keras.regularizers.activity_l2(0.5),
        )
        model = keras.models.Sequential([layer])
        model.compile("sgd", "mse", metrics=["precision", "recall", "fmeasure"])
        results = model.evaluate(_FOUND[:, None], _TRUE[:, None], batch_size=8, verbose=0)
    loss = np.mean((_FOUND - _TRUE) ** 2) + 0.5 + 0.25 + 0.5 * np.sum(_FOUND**2)
    assert results == pytest.approx([loss, 3 / 5, 3 / 4, 2 * 0.6 * 0.75 / 1.35])


def test_classes_of_probabilities() -> None:
    assert keras_1.probas_to_classes(np.array([[0.2, 0.8], [0.6, 0.4]])).tolist() == [1, 0]
    assert keras_1.probas_to_classes(np.array([[0.2], [0.6]])).tolist() == [0, 1]
    assert keras_1.accuracy([1, 2, 3, 4], [1, 2, 0, 4]) == 0.75


@pytest.mark.parametrize("package", ["keras", "tensorflow.keras"])
@pytest.mark.parametrize("name", ["cosine", "cosine_proximity"])
def test_a_model_takes_the_cosine_by_its_old_names(package: str, name: str) -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    keras = faces.load(package)
    x, y = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[4.0, 3.0], [0.0, 2.0]])
    with tf.Graph().as_default():
        ones = keras.layers.Dense(
            2, input_shape=(2,), use_bias=False, kernel_initializer="identity"
        )
        model = keras.models.Sequential([ones])
        model.compile("sgd", name, metrics=[name])
        found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx([-24 / 25 / 2] * 2)
