"""Keras models as SavedModels by the functions of TensorFlow 1.12 to 2.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine

X = np.ones((2, 3), np.float32)


@pytest.fixture
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def _model(faces: Faces) -> Any:
    keras = faces.load("tensorflow.keras")
    return keras.Sequential([keras.layers.Dense(2, input_shape=(3,), name="only")])


def test_a_model_comes_back(faces: Faces, tmp_path: Path) -> None:
    keras, folder = faces.load("tensorflow.keras"), str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session():
        model = _model(faces)
        keras.experimental.export_saved_model(model, folder)

        again = keras.experimental.load_from_saved_model(folder)

        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        with pytest.raises(MoxValueError, match="where there is a SavedModel already"):
            keras.experimental.export_saved_model(model, folder)
        with pytest.raises(MoxValueError, match="where there is no assets/saved_model.json"):
            keras.experimental.load_from_saved_model(str(tmp_path))


def test_contrib_and_the_form_of_tensorflow_1(faces: Faces, tmp_path: Path) -> None:
    contrib = faces.load("tensorflow.contrib.saved_model")
    with tf.Graph().as_default(), tf.Session():
        model = _model(faces)
        first = contrib.save_keras_model(model, str(tmp_path)).decode()
        second = contrib.save_keras_model(model, str(tmp_path)).decode()
        assert (Path(first).parent, int(second[-10:]) > int(first[-10:])) == (tmp_path, True)
        Path(first, "keras_metadata.pb").unlink()  # As TensorFlow 1 wrote it.

        again = contrib.load_keras_model(first)

        np.testing.assert_array_equal(again.predict(X), model.predict(X))
