"""Methods as metrics of graph-mode models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tf_keras.api._v1 import keras
from tf_keras.src.engine import training_utils_v1

from moxing.legacy.keras import metric_functions


class Scores:
    def largest(self, y_true: Any, y_pred: Any) -> Any:
        return tf.reduce_max(y_true - y_pred)


def test_a_method_is_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    found = training_utils_v1.get_metric_function
    monkeypatch.setattr(training_utils_v1, "get_metric_function", found)
    metric_functions.install()
    metric_functions.install()
    x, y = np.zeros((4, 2), np.float32), np.array([[1], [2], [5], [3]], np.float32)
    with tf.Graph().as_default(), tf.Session():
        layers = keras.layers
        model: Any = keras.Sequential([layers.Dense(1, use_bias=False, input_shape=(2,))])
        model.compile("sgd", "mse", metrics=[Scores().largest, "mae"])

        values = model.evaluate(x, y, batch_size=4, verbose=0)

    assert model.metrics_names[1] == "largest"
    assert (values[1], values[2]) == (5.0, 2.75)
