"""The Estimator dialect: the classes of `tf.estimator`, which left TensorFlow in 2.16, over engine.

Programs that `mox run` starts find it as `tf.estimator`; others import `moxing.estimator`.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as _tf

from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator import experimental as experimental
from moxing.estimator import export as export
from moxing.estimator import inputs as inputs
from moxing.estimator import tpu as tpu
from moxing.estimator.absent import AbsentError
from moxing.estimator.config import RunConfig as RunConfig
from moxing.estimator.estimator import Estimator as Estimator
from moxing.estimator.from_keras.model import model_to_estimator as model_to_estimator
from moxing.estimator.modeling.spec import EstimatorSpec as EstimatorSpec
from moxing.estimator.modeling.spec import ModeKeys as ModeKeys
from moxing.estimator.serving.exporters import FinalExporter as FinalExporter
from moxing.estimator.specs import EvalSpec as EvalSpec
from moxing.estimator.specs import TrainSpec as TrainSpec
from moxing.estimator.training import train_and_evaluate as train_and_evaluate

# TensorFlow had these hooks here too.
SessionRunHook = _tf.train.SessionRunHook
SessionRunArgs = _tf.train.SessionRunArgs
SessionRunContext = _tf.train.SessionRunContext
SessionRunValues = _tf.train.SessionRunValues
CheckpointSaverListener = _tf.train.CheckpointSaverListener
CheckpointSaverHook = _tf.train.CheckpointSaverHook
FeedFnHook = _tf.train.FeedFnHook
FinalOpsHook = _tf.train.FinalOpsHook
GlobalStepWaiterHook = _tf.train.GlobalStepWaiterHook
LoggingTensorHook = _tf.train.LoggingTensorHook
NanLossDuringTrainingError = _tf.train.NanLossDuringTrainingError
NanTensorHook = _tf.train.NanTensorHook
ProfilerHook = _tf.train.ProfilerHook
SecondOrStepTimer = _tf.train.SecondOrStepTimer
StepCounterHook = _tf.train.StepCounterHook
StopAtStepHook = _tf.train.StopAtStepHook
SummarySaverHook = _tf.train.SummarySaverHook

__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "FeedFnHook",
    "FinalExporter",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "ModeKeys",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "RunConfig",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "TrainSpec",
    "experimental",
    "export",
    "inputs",
    "model_to_estimator",
    "tpu",
    "train_and_evaluate",
]

_CANNED = (
    "{name} is not here: of the ready-made models none is. Write its model_fn for"
    " tf.estimator.Estimator, or build it with tf.keras and give it to"
    " tf.keras.estimator.model_to_estimator or mox.run."
)
_OTHERS = {
    "BestExporter": "Use tf.estimator.FinalExporter, or export_saved_model after training.",
    "LatestExporter": "Use tf.estimator.FinalExporter, or export_saved_model after training.",
    "Exporter": "Use tf.estimator.FinalExporter, or export_saved_model after training.",
    "WarmStartSettings": "Pass the path of a checkpoint as warm_start_from.",
    "VocabInfo": "Pass the path of a checkpoint as warm_start_from.",
    "add_metrics": "Add the metric to eval_metric_ops in model_fn.",
    "classifier_parse_example_spec": "Use tf.feature_column.make_parse_example_spec.",
    "regressor_parse_example_spec": "Use tf.feature_column.make_parse_example_spec.",
}
_KINDS = ("Classifier", "Regressor", "Estimator", "Head")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    if name in _OTHERS:
        raise AbsentError(f"tf.estimator.{name} is not supported. {_OTHERS[name]}")
    if name.endswith(_KINDS):
        raise AbsentError(_CANNED.format(name=f"tf.estimator.{name}"))
    near = near_matches(name, __all__)
    raise MoxAttributeError(f"tf.estimator has no {name!r}.{near}", name=name)
