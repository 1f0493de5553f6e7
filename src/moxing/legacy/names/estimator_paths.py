"""Modules of `tensorflow.python.estimator`, by the paths that programs import."""

from __future__ import annotations

import functools
import types
from typing import Any

from moxing.legacy.face.faces import Spec

_ESTIMATOR = "moxing.estimator"
_FACE = "face:tensorflow.estimator"
# Modules of the library with ready-made models that openmox loads as they are.
_CANNED = ("head", "metric_keys", "optimizers", "parsing_utils", "prediction_keys")
_MODELS = ("baseline", "dnn", "dnn_linear_combined", "linear")


def _library(name: str) -> types.ModuleType:
    from moxing.estimator.canned import library

    return library.load(name)


def _models(name: str) -> Spec:
    """A file of ready-made models, whose functions had private names before they were public."""
    return Spec(
        roots=(f"tensorflow_estimator.python.estimator.canned.{name}",),
        fallback=(_ESTIMATOR,),
        arrive=functools.partial(_arrive, name),
        old_prefix="_",
    )


def _arrive(name: str) -> None:
    _library(f"canned.{name}")


def _constant(value: Any) -> Any:
    return lambda: value


_MODEL_FN = Spec(
    roots=(f"{_ESTIMATOR}.modeling.spec",),
    names={
        "AVERAGE_LOSS_METRIC_KEY": _constant("average_loss"),
        "LOSS_METRIC_KEY": _constant("loss"),
    },
)

SPEC = Spec(
    roots=(_ESTIMATOR,),
    names={
        "canned": Spec(
            names={
                **{name: functools.partial(_library, f"canned.{name}") for name in _CANNED},
                **{name: _models(name) for name in _MODELS},
            }
        ),
        "estimator": Spec(
            roots=(f"{_ESTIMATOR}.estimator",),
            names={
                "_load_global_step_from_checkpoint_dir": (
                    f"{_ESTIMATOR}.running.checkpoints:newest_step"
                )
            },
        ),
        "estimator_lib": _FACE,
        "export": Spec(
            roots=(f"{_ESTIMATOR}.export",),
            names={
                name: f"{_ESTIMATOR}.export" for name in ("export", "export_lib", "export_output")
            },
        ),
        "exporter": f"{_ESTIMATOR}.serving.exporters",
        "inputs": Spec(
            roots=(f"{_ESTIMATOR}.inputs",),
            names={name: f"{_ESTIMATOR}.inputs" for name in ("inputs", "numpy_io", "pandas_io")},
        ),
        "keras": f"{_ESTIMATOR}.from_keras.model",
        "mode_keys": f"{_ESTIMATOR}.modeling.spec",
        "model_fn": _MODEL_FN,
        "run_config": f"{_ESTIMATOR}.config",
        "util": "tensorflow.python.util.function_utils",
    },
)
