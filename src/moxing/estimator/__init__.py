"""The Estimator dialect: the `tf.estimator` classes that TensorFlow 2.16 removed, on the engine.

Programs that `mox run` starts find this module as `tf.estimator`; others import `moxing.estimator`.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as _tf

from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator import canned as _canned
from moxing.estimator import experimental as experimental
from moxing.estimator import export as export
from moxing.estimator import inputs as inputs
from moxing.estimator import tpu as tpu
from moxing.estimator.absent import AbsentError
from moxing.estimator.config import RunConfig as RunConfig
from moxing.estimator.estimator import Estimator as Estimator
from moxing.estimator.extenders import add_metrics as add_metrics
from moxing.estimator.from_keras.model import model_to_estimator as model_to_estimator
from moxing.estimator.modeling.spec import EstimatorSpec as EstimatorSpec
from moxing.estimator.modeling.spec import ModeKeys as ModeKeys
from moxing.estimator.serving.exporters import BestExporter as BestExporter
from moxing.estimator.serving.exporters import Exporter as Exporter
from moxing.estimator.serving.exporters import FinalExporter as FinalExporter
from moxing.estimator.serving.exporters import LatestExporter as LatestExporter
from moxing.estimator.specs import EvalSpec as EvalSpec
from moxing.estimator.specs import TrainSpec as TrainSpec
from moxing.estimator.training import train_and_evaluate as train_and_evaluate
from moxing.estimator.warm_start import VocabInfo as VocabInfo
from moxing.estimator.warm_start import WarmStartSettings as WarmStartSettings

# TensorFlow also exposed these hooks in `tf.estimator`.
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
    "BestExporter",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Exporter",
    "FeedFnHook",
    "FinalExporter",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LatestExporter",
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
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "experimental",
    "export",
    "inputs",
    "model_to_estimator",
    "tpu",
    "train_and_evaluate",
]

_BOOSTED = (
    "{name} is not supported: TensorFlow no longer has the operations that grow trees. Use"
    " HistGradientBoosting of scikit-learn, XGBoost or YDF on the same table, or"
    " tf.estimator.DNNLinearCombinedClassifier and its kin."
)


def __getattr__(name: str) -> Any:
    if name in _canned.NAMES:
        return _canned.get(name)
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    if name.startswith("BoostedTrees"):
        raise AbsentError(_BOOSTED.format(name=f"tf.estimator.{name}"))
    near = near_matches(name, [*__all__, *_canned.NAMES])
    raise MoxAttributeError(f"tf.estimator has no {name!r}.{near}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_canned.NAMES})
