"""`tf.estimator.tpu` and `tf.contrib.tpu`: runs programs made for TPUs on CPUs and GPUs."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator.absent import AbsentError
from moxing.estimator.tpu.config import InputPipelineConfig as InputPipelineConfig
from moxing.estimator.tpu.config import RunConfig as RunConfig
from moxing.estimator.tpu.config import TPUConfig as TPUConfig
from moxing.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from moxing.estimator.tpu.hooks import AsyncCheckpointSaverHook as AsyncCheckpointSaverHook
from moxing.estimator.tpu.optimizer import CrossShardOptimizer as CrossShardOptimizer
from moxing.estimator.tpu.resolver import TPUClusterResolver as TPUClusterResolver
from moxing.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec

__all__ = [
    "AsyncCheckpointSaverHook",
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUClusterResolver",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
]

_NO_TPUS = "There are no TPUs here: leave it out, and pass use_tpu=False to TPUEstimator."
_EXPORT = "Leave it out: TPUEstimator's export_saved_model writes a SavedModel for CPUs and GPUs."
_QUEUES = "There are no TPUs here: pass the tensors to the function that computes with them."
_OTHERS = {
    "AdagradParameters": _NO_TPUS,
    "AdamParameters": _NO_TPUS,
    "BatchConfig": _EXPORT,
    "EmbeddingConfigSpec": _NO_TPUS,
    "ExportSavedModelApiVersion": _EXPORT,
    "KerasTPUModel": "Leave it out: train the model itself, with moxing.keras.fit.",
    "TPUDistributionStrategy": "Use tf.distribute.MirroredStrategy, or leave it out.",
    "experimental": _NO_TPUS,
    "infeed_dequeue_tuple": _QUEUES,
    "infeed_enqueue_tuple": _QUEUES,
    "keras_to_tpu_model": "Leave it out: train the model itself, with moxing.keras.fit.",
    "model_fn_inference_on_tpu": _EXPORT,
    "outfeed_dequeue_tuple": _QUEUES,
    "outfeed_enqueue_tuple": _QUEUES,
    "proto": _NO_TPUS,
}


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        raise AbsentError(f"tf.estimator.tpu.{name} is not supported. {_OTHERS[name]}")
    near = near_matches(name, __all__) if not name.startswith("_") else ""
    raise MoxAttributeError(f"tf.estimator.tpu has no {name!r}.{near}", name=name)
