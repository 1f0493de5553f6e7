"""Loads the heads and ready-made models of tensorflow-estimator, without its trainer.

The last release of tensorflow-estimator, 2.15, can't be imported with TensorFlow 2.16 or later: its
trainer needs files that TensorFlow removed. Its heads and model functions need only public APIs, an
Estimator and a spec. So this module loads them with openmox's Estimator and spec in place of the
library's, and with tf_keras, the Keras they were written for.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow
from tensorflow.python.eager import monitoring

from moxing.engine.graph.rewrites import plain_conditionals
from moxing.errors import MoxImportError
from moxing.estimator import export
from moxing.estimator.canned import optimizers
from moxing.estimator.config import RunConfig
from moxing.estimator.estimator import Estimator
from moxing.estimator.modeling import functions
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys
from moxing.estimator.tpu.spec import TPUEstimatorSpec
from moxing.estimator.warm_start import VocabInfo, WarmStartSettings

_PACKAGE = "tensorflow_estimator"
_ROOT = f"{_PACKAGE}.python.estimator"
_WITH_OPTIMIZERS = ("canned.optimizers", "head.base_head")
_INSTALL = "pip install 'tensorflow-estimator>=2.15,<2.16' brings it back."


def load(name: str) -> types.ModuleType:
    """A module of the library, such as "canned.dnn".

    Raises:
        MoxImportError: the library is not installed.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        _prepare()
    return importlib.import_module(f"{_ROOT}.{name}")


def _prepare() -> None:
    found = importlib.machinery.PathFinder.find_spec(_PACKAGE)
    if found is None or found.submodule_search_locations is None:
        raise MoxImportError(
            f"ready-made Estimators need the package tensorflow-estimator. {_INSTALL}",
            name=_PACKAGE,
        )
    # An empty package stands for the library's own __init__, which imports everything.
    package = _module(_PACKAGE, {"__path__": list(found.submodule_search_locations)})
    sys.modules[_PACKAGE] = package
    sys.meta_path.insert(0, _Finder())
    for below, names in _replacements().items():
        sys.modules[f"{_ROOT}.{below}"] = _module(f"{_ROOT}.{below}", names)
    files = (importlib.import_module(f"{_ROOT}.{name}") for name in _WITH_OPTIMIZERS)
    optimizers.adapt(*files)


def _replacements() -> Mapping[str, Mapping[str, Any]]:
    """Returns the contents of the replaced library modules, by module name below the root."""
    gauge = monitoring.StringGauge("/moxing/estimator/canned", "models made", "type")
    outputs = {
        name: getattr(export, name)
        for name in ("ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput")
    }
    return {
        "estimator": {
            "Estimator": Estimator,
            "EstimatorV2": Estimator,
            "WarmStartSettings": WarmStartSettings,
            "VocabInfo": VocabInfo,
            "_canned_estimator_api_gauge": gauge,
        },
        "estimator_export": {"estimator_export": _Exported},
        "mode_keys": {"ModeKeys": ModeKeys},
        "model_fn": {
            "EstimatorSpec": EstimatorSpec,
            "ModeKeys": ModeKeys,
            "_TPUEstimatorSpec": _TpuSpec,
            "LOSS_METRIC_KEY": "loss",
            "AVERAGE_LOSS_METRIC_KEY": "average_loss",
            "call_logit_fn": _call_logit_fn,
        },
        "run_config": {"RunConfig": RunConfig},
        "export.export_output": outputs,
        "export.export_lib": outputs | {"ServingInputReceiver": export.ServingInputReceiver},
        "estimator_lib": {
            "Estimator": Estimator,
            "EstimatorSpec": EstimatorSpec,
            "ModeKeys": ModeKeys,
            "RunConfig": RunConfig,
        },
    }


def _call_logit_fn(logit_fn: Any, features: Any, mode: str, params: Any, config: Any) -> Any:
    """Returns `logit_fn` of the features and of the other arguments that it has parameters for."""
    known = {"mode": mode, "params": params, "config": config}
    taken = functions.names(logit_fn)
    return logit_fn(features=features, **{n: v for n, v in known.items() if n in taken})


class _Exported:
    """Stands for the decorator that exported a class or function under public API names."""

    def __init__(self, *names: str, v1: Sequence[str] | None = None) -> None:
        del names, v1

    def __call__(self, decorated: Any) -> Any:
        return decorated

    def export_constant(self, module: str, name: str) -> None:
        """Does nothing."""


class _TpuSpec:
    """Stands for the TPU spec, which heads make first and then convert to an EstimatorSpec."""

    def __init__(self, mode: str, eval_metrics: Any = None, **fields: Any) -> None:
        self._mode, self._metrics, self._fields = mode, eval_metrics, fields

    def as_estimator_spec(self) -> Any:
        """Converts this spec to an EstimatorSpec."""
        spec = TPUEstimatorSpec(self._mode, eval_metrics=self._metrics, **self._fields)
        return spec.as_estimator_spec()


class _Finder:
    """Finds the library's modules, and loads each with its own import function."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != _PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__dict__["__builtins__"] = {**builtins.__dict__, "__import__": _import}
        return module


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level=0) -> Any:
    """Imports a module; `import tensorflow` returns a TensorFlow whose Keras is tf_keras."""
    if name == "tensorflow" and not fromlist and not level:
        return _tensorflow()
    return builtins.__import__(name, globals, locals, fromlist or (), level)


def _tensorflow() -> types.ModuleType:
    known = sys.modules.get(_FACE)
    if known is None:
        import tf_keras
        from tf_keras.api._v1.keras.__internal__.legacy import layers

        names = {
            "keras": tf_keras.api._v1.keras,
            "layers": layers,
            # The models ask for the sizes of variables, which are known, in conditionals.
            "cond": plain_conditionals.static,
        }
        v1 = _over(tensorflow.compat.v1, names)
        v2 = _over(tensorflow.compat.v2, {"keras": tf_keras})
        compat = _over(tensorflow.compat, {"v1": v1, "v2": v2})
        known = _over(tensorflow, {"keras": tf_keras, "compat": compat})
        sys.modules[_FACE] = known
    return known


_FACE = f"{__name__}.tensorflow"


def _over(module: types.ModuleType, names: Mapping[str, Any]) -> types.ModuleType:
    """Returns a view of the module in which `names` override attributes."""
    made = _module(module.__name__, names)
    made.__dict__["__getattr__"] = _reader(module)
    return made


def _reader(module: types.ModuleType) -> Callable[[str], Any]:
    return lambda name: getattr(module, name)


def _module(name: str, values: Mapping[str, Any]) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(values)
    return made
