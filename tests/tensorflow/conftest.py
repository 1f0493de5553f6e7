"""A small problem to run `mox.run` on, and flags that every test finds and leaves as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

FEATURES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], np.float32)
LABELS = np.array([0, 1, 1, 0], np.int32)


def input_fn(mode: str) -> list[tf.Tensor]:
    """One batch of four samples with three features and a class, the same at each step."""
    del mode
    return [tf.constant(FEATURES), tf.constant(LABELS)]


def build(inputs: list[tf.Tensor], mode: str, **fields: Any) -> mox.ModelSpec:
    """Softmax regression.

    Args:
        inputs: features and labels.
        mode: an export_spec is added in EXPORT.
        **fields: of ModelSpec, in place of those made here; functions are called with `inputs` and
            the loss.
    """
    features, labels = inputs
    logits = tf.matmul(features, tf.get_variable("w", [3, 2], initializer=tf.zeros_initializer()))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    made: dict[str, Any] = {
        "loss": loss,
        "log_info": {"loss": loss},
        "output_info": {"logits": logits},
    }
    if mode == mox.ModeKeys.EXPORT:
        made["export_spec"] = mox.ExportSpec({"features": features}, {"logits": logits})
    for name, value in fields.items():
        plain = isinstance(value, type) or not callable(value)
        made[name] = value if plain else value(inputs, loss)
    return mox.ModelSpec(**made)


@pytest.fixture
def model_with() -> Callable[..., Callable[..., mox.ModelSpec]]:
    """`model_with(loss=..., hooks=...)`: the small problem's model_fn with other fields."""

    def make(**fields: Any) -> Callable[..., mox.ModelSpec]:
        return lambda inputs, mode: build(inputs, mode, **fields)

    return make


@pytest.fixture
def run() -> Callable[..., Any]:
    """`run(...)`: `mox.run` on the small problem, three steps of training unless told otherwise."""

    def call(**arguments: Any) -> Any:
        defaults: dict[str, Any] = {
            "input_fn": input_fn,
            "model_fn": build,
            "optimizer_fn": mox.get_optimizer_fn("sgd", learning_rate=0.1),
            "run_mode": mox.ModeKeys.TRAIN,
            "max_number_of_steps": 3,
        }
        return mox.run(**(defaults | arguments))

    return call
