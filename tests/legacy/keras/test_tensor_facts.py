"""Facts that Keras until 2.2 noted on tensors and models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tf_keras import layers, models

from moxing.legacy.keras import tensor_facts


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    tensor_facts.install()
    with tf.Graph().as_default():
        yield
    kinds: list[Any] = [(tf2.Tensor, "_keras_shape"), (models.Model, "uses_learning_phase")]
    for kind, name in kinds:
        delattr(kind, name)


def test_the_shape_of_a_tensor() -> None:
    x: Any = layers.Input((8, 4))
    y: Any = layers.Dense(3)(x)
    assert (x._keras_shape, y._keras_shape) == ((None, 8, 4), (None, 8, 3))

    y._keras_shape = (2, 8, 3)

    assert y._keras_shape == (2, 8, 3)
    assert x._keras_shape == (None, 8, 4)
    assert not hasattr(tf.placeholder(tf.float32), "_keras_shape")


def test_whether_a_model_has_a_learning_phase() -> None:
    class OfOld(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.uses_learning_phase = True

    def of(*parts: Any) -> Any:
        model: Any = models.Sequential([layers.Input((8, 4)), *parts])
        return model.uses_learning_phase

    assert of(layers.Dropout(0.5)) is True
    assert of(models.Sequential([layers.BatchNormalization()])) is True
    assert of(layers.LSTM(2, dropout=0.5)) is True
    assert of(OfOld()) is True
    assert of(layers.LSTM(2), layers.Dense(1)) is False
