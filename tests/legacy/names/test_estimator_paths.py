"""Private modules of tf.estimator that programs import lead to its public names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing import estimator
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine

_BELOW = "tensorflow.python.estimator"


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


@pytest.mark.parametrize(
    ("module", "name", "public"),
    [
        ("inputs.numpy_io", "numpy_input_fn", estimator.inputs.numpy_input_fn),
        ("inputs.pandas_io", "pandas_input_fn", estimator.inputs.pandas_input_fn),
        ("export.export_output", "PredictOutput", estimator.export.PredictOutput),
        ("exporter", "FinalExporter", estimator.FinalExporter),
        ("model_fn", "EstimatorSpec", estimator.EstimatorSpec),
        ("mode_keys", "ModeKeys", estimator.ModeKeys),
        ("estimator", "Estimator", estimator.Estimator),
        ("training", "train_and_evaluate", estimator.train_and_evaluate),
        ("canned.dnn", "DNNClassifier", estimator.DNNClassifier),
    ],
)
def test_a_module_has_the_public_names(
    faces: Faces, module: str, name: str, public: object
) -> None:
    assert getattr(faces.load(f"{_BELOW}.{module}"), name) is public


def test_keys_of_metrics_and_losses_keep_their_values(faces: Faces) -> None:
    assert faces.load(f"{_BELOW}.model_fn").LOSS_METRIC_KEY == "loss"
    keys = faces.load(f"{_BELOW}.canned.prediction_keys").PredictionKeys
    assert keys.CLASS_IDS == "class_ids"


def test_functions_of_ready_made_models_have_their_private_names(faces: Faces) -> None:
    linear = faces.load(f"{_BELOW}.canned.linear")
    assert linear._linear_logit_fn_builder is estimator.experimental.linear_logit_fn_builder
    dnn = faces.load(f"{_BELOW}.canned.dnn")
    assert dnn._dnn_logit_fn_builder is estimator.experimental.dnn_logit_fn_builder
    assert callable(
        faces.load(f"{_BELOW}.canned.dnn_linear_combined")._dnn_linear_combined_model_fn
    )


def test_the_step_of_the_newest_checkpoint(faces: Faces, tmp_path: Path) -> None:
    step = faces.load(f"{_BELOW}.estimator")._load_global_step_from_checkpoint_dir
    assert step(str(tmp_path / "none")) == 0
    model = estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    arrays = np.ones(8, np.float32)
    read = estimator.inputs.numpy_input_fn({"x": arrays}, arrays, 4, None, shuffle=False)
    model.train(read, steps=3)
    assert step(str(tmp_path)) == 3
