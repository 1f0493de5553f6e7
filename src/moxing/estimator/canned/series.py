"""The time series models of tensorflow-estimator, loaded with metrics that resources can hold."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.estimator.canned import library

_ROOM = "canned.timeseries"


@functools.cache
def load(name: str) -> types.ModuleType:
    """A module of the library's time series, such as "estimators" or "feature_keys".

    Raises:
        MoxImportError: tensorflow-estimator is not installed.
    """
    head = library.load(f"{_ROOM}.head")
    head.__dict__["_identity_metric_single"] = _last_value
    module = library.load(f"{_ROOM}.{name}")
    if name == "saved_model_utils":
        # The library removes this name from the module, and its functions read the name.
        module.__dict__["numpy"] = np
    return module


def _last_value(name: str, input_tensor: tf.Tensor) -> tuple[tf.Tensor, tf.Operation]:
    """A metric whose value is the tensor of the newest batch, of whatever size.

    The library's own metric changes the shape of a reference variable; a run's graph has resources.
    """
    shape = input_tensor.shape
    kept = tf.Variable(
        lambda: tf.zeros([0] * (shape.rank or 0), dtype=input_tensor.dtype),
        shape=tf.TensorShape(None),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        use_resource=True,
        name=f"{name}_identity_metric",
        dtype=input_tensor.dtype,
    )
    update = kept.assign(input_tensor, read_value=False)
    value: Any = kept.value()
    value.set_shape(shape)
    return value, update
