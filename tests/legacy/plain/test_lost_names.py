"""Names that TensorFlow lost, by its files: what they say is what TensorFlow itself says."""

from __future__ import annotations

import types

import pytest
import tensorflow as tf
import tf_keras
from keras._tf_keras import keras

from moxing.legacy.plain import lost_names


def _now(name: str) -> list[types.ModuleType]:
    """What `tf.NAME` may be; some are modules of Keras, which there is twice."""
    if name in ("initializers", "losses", "metrics", "optimizers"):
        return [getattr(package, name) for package in (keras, tf_keras)]
    return [getattr(tf, name)]


def test_tensorflow_itself_agrees() -> None:
    """For every public name of TensorFlow 1.x, of the package and of its modules."""
    wrong = []
    for name in dir(tf.compat.v1):
        value = getattr(tf.compat.v1, name)
        if name.startswith("_") or name in ("compat", "keras"):
            continue
        if lost_names.is_lost([name]) != (not hasattr(tf, name)):
            wrong.append(name)
        if not isinstance(value, types.ModuleType) or not hasattr(tf, name):
            continue
        for part in dir(value):
            if part.startswith("_") or getattr(value, part) is value:
                continue
            if lost_names.is_lost([name, part]) == any(hasattr(m, part) for m in _now(name)):
                wrong.append(f"{name}.{part}")

    assert wrong == []
    assert lost_names.is_lost(["Session"])


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("contrib.slim.conv2d", True),
        ("examples.tutorials.mnist.input_data", True),
        ("estimator.Estimator", True),
        ("compat.v1.estimator.Estimator", True),
        ("keras.estimator.model_to_estimator", True),
        ("python.estimator.run_config", True),
        ("nn.rnn_cell.LSTMCell", True),
        ("losses.softmax_cross_entropy", True),
        ("losses.SparseCategoricalCrossentropy", False),
        ("python.keras.utils.to_categorical", True),
        ("python.keras.utils.*", True),
        ("python.keras.utils.data_utils", False),
        ("python.keras.layers.Dense", False),
        ("compat.v1.train.AdamOptimizer", False),
        ("compat.v2.estimator", False),
        ("data.Dataset.from_tensor_slices", False),
        ("distribute.experimental.ParameterServerStrategy", False),
        ("keras.Sequential", False),
        # A mistake in any version.
        ("reduce_meen", False),
        ("trian.Saver", False),
    ],
)
def test_single_names(name: str, lost: bool) -> None:
    assert lost_names.is_lost(name.split(".")) is lost
