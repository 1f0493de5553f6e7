"""`tf.contrib.timeseries`: Estimators of time series, their readers and their windows."""

from __future__ import annotations

from typing import Any

from moxing.estimator.canned import series
from moxing.legacy.contrib.timeseries import models, sequential
from moxing.legacy.contrib.timeseries.readers import (
    CSVReader,
    NumpyReader,
    TFExampleReader,
    TimeSeriesReader,
)
from moxing.legacy.contrib.timeseries.windows import (
    RandomWindowInputFn,
    TimeSeriesInputFn,
    WholeDatasetInputFn,
    predict_continuation_input_fn,
)

__all__ = [
    "CSVReader",
    "NumpyReader",
    "RandomWindowInputFn",
    "TFExampleReader",
    "TimeSeriesInputFn",
    "TimeSeriesReader",
    "WholeDatasetInputFn",
    "predict_continuation_input_fn",
]

# By name, the function that returns the class: these classes need tensorflow-estimator.
_MADE = {
    "ARModel": models.ar_model,
    "ARRegressor": models.ar_regressor,
    "FlatPredictionModel": lambda: models.FlatPredictionModel,
    "SequentialTimeSeriesModel": sequential.sequential_model,
}

# The modules of tensorflow-estimator's time series, where all other names are.
_MODULES = (
    "estimators",
    "ar_model",
    "feature_keys",
    "head",
    "math_utils",
    "model",
    "model_utils",
    "saved_model_utils",
    "state_management",
)


def __getattr__(name: str) -> Any:
    if name in _MADE:
        return _MADE[name]()
    if name in _MODULES:
        return series.load(name)
    if not name.startswith("__"):
        for module in map(series.load, _MODULES):
            value = module.__dict__.get(name)
            # Not what a module imports, but what is defined in the room.
            if getattr(value, "__module__", None) == module.__name__:
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
