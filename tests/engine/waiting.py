"""An input that waits at one element, and a model whose state does not all depend on its data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from runs import model_fn

from moxing.engine.job.job import Model


def halves(at: int, wait: Callable[[], None], taken: list[int] | None = None) -> Any:
    """Halves of the numbers from 0 on.

    Args:
        at: the number at which `wait` is called.
        wait: called each time that this number is read.
        taken: gets every number that is read.
    """

    def half(number: np.ndarray) -> np.float32:
        if taken is not None:
            taken.append(int(number))
        if number == at:
            wait()
        return np.float32(number / 2)

    def read(number: tf.Tensor) -> tf.Tensor:
        value = tf.py_func(half, [number], tf.float32)
        value.set_shape([])
        return value

    return tf.data.Dataset.range(1000).map(read)


def counting(inputs: Any, mode: str) -> Model:
    """`runs.model_fn`, and a variable that counts its steps and depends on no data."""
    model = model_fn(inputs, mode)
    counter = tf.get_variable("counter", [], tf.int64, tf.zeros_initializer(), trainable=False)
    counts = counter.assign_add(1, read_value=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, counts)
    return dataclasses.replace(model)
