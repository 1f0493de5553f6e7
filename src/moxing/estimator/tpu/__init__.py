"""`tf.estimator.tpu` and `tf.contrib.tpu`: runs programs made for TPUs on CPUs and GPUs."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator.absent import AbsentError
from moxing.estimator.tpu.config import InputPipelineConfig as InputPipelineConfig
from moxing.estimator.tpu.config import RunConfig as RunConfig
from moxing.estimator.tpu.config import TPUConfig as TPUConfig
from moxing.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from moxing.estimator.tpu.optimizer import CrossShardOptimizer as CrossShardOptimizer
from moxing.estimator.tpu.resolver import TPUClusterResolver as TPUClusterResolver
from moxing.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUClusterResolver",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
]

_NO_TPUS = "There are no TPUs here: leave it out, and pass use_tpu=False to TPUEstimator."
_OTHERS = {
    "AdagradParameters": _NO_TPUS,
    "AdamParameters": _NO_TPUS,
    "AsyncCheckpointSaverHook": "Leave it out: checkpoints are written beside the steps.",
    "EmbeddingConfigSpec": _NO_TPUS,
    "KerasTPUModel": "Leave it out: train the model itself, with moxing.keras.fit.",
    "TPUDistributionStrategy": "Use tf.distribute.MirroredStrategy, or leave it out.",
    "experimental": _NO_TPUS,
    "keras_to_tpu_model": "Leave it out: train the model itself, with moxing.keras.fit.",
}


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        raise AbsentError(f"tf.estimator.tpu.{name} is not supported. {_OTHERS[name]}")
    near = near_matches(name, __all__) if not name.startswith("_") else ""
    raise MoxAttributeError(f"tf.estimator.tpu has no {name!r}.{near}", name=name)
