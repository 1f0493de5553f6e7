"""Lets a model's output be a loss without axes, which Keras 2 took as one value for a batch."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf


def install() -> None:
    """From now on loss functions get an output without axes as it is; once a process."""
    from tf_keras.src.losses import LossFunctionWrapper

    original: Any = LossFunctionWrapper.call

    @functools.wraps(original)
    def call(self: Any, y_true: Any, y_pred: Any) -> Any:
        if isinstance(y_pred, tf.Tensor) and y_pred.shape.rank == 0:
            # tf_keras compares the last axes of both, and there is none.
            return self.fn(y_true, y_pred, **self._fn_kwargs)
        return original(self, y_true, y_pred)

    LossFunctionWrapper.call = call
