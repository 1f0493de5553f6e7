"""Optimizers of programs for the package `keras` make the steps of Keras 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxTypeError
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine

FUZZ = 1e-7


@pytest.fixture(scope="module")
def keras() -> Any:
    faces: Faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    return faces.load("keras")


def adadelta(g: float, rate: float = 1.0) -> list[float]:
    moved, steps, squares, updates = 0.0, [], 0.0, 0.0
    for _ in range(2):
        squares = 0.95 * squares + 0.05 * g * g
        update = g * np.sqrt(updates + FUZZ) / np.sqrt(squares + FUZZ)
        updates = 0.95 * updates + 0.05 * update * update
        moved -= rate * update
        steps.append(moved)
    return steps


def adagrad(g: float, rate: float = 0.01) -> list[float]:
    first = rate * g / (abs(g) + FUZZ)
    return [-first, -first - rate * g / (np.sqrt(2 * g * g) + FUZZ)]


def adamax(g: float, rate: float = 0.002) -> list[float]:
    # The gradient is the same at each step, and so is the largest: each step is the rate.
    return [-rate * np.sign(g), -2 * rate * np.sign(g)]


def steps(keras: Any, optimizer: Any, gradient: float) -> list[float]:
    """The places of a weight after one and two steps, whose gradient is a constant."""
    with tf.Graph().as_default(), tf.Session().as_default() as session:
        keras.backend.set_session(session)
        model = keras.models.Sequential(
            [keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(1,))]
        )
        model.compile(optimizer, loss=lambda labels, made: made)
        found = []
        for _ in range(2):
            model.train_on_batch(np.full([4, 1], gradient, np.float32), np.zeros([4, 1]))
            found.append(float(model.get_weights()[0][0, 0]))
        return found


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    ("name", "expected"), [("Adadelta", adadelta), ("Adagrad", adagrad), ("Adamax", adamax)]
)
def test_default_steps(
    keras: Any, name: str, expected: Callable[[float], list[float]], by_name: bool
) -> None:
    optimizer = name.lower() if by_name else getattr(keras.optimizers, name)()
    assert steps(keras, optimizer, 0.5) == pytest.approx(expected(0.5), rel=1e-3)


def test_arguments_by_place(keras: Any) -> None:
    """The third argument of SGD is the decay, which `tf.keras` takes for `nesterov`."""
    made = keras.optimizers.SGD(0.1, 0.0, 1.0)
    assert made.get_config()["nesterov"] is False
    # The rate is halved at the second step.
    assert steps(keras, made, 1.0) == pytest.approx([-0.1, -0.15])
    assert steps(keras, keras.optimizers.Adagrad(lr=0.5, epsilon=None), 2.0) == pytest.approx(
        adagrad(2.0, 0.5), rel=1e-3
    )
    assert keras.optimizers.Nadam().get_config()["learning_rate"] == pytest.approx(0.002)
    assert keras.optimizers.Adam(1e-4, 0.5, 0.9, 1e-3, 0.1).get_config()["decay"] == 0.1


def test_a_config_is_kept(keras: Any) -> None:
    made = keras.optimizers.Adadelta(lr=0.3)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(made))
    assert again.get_config() == made.get_config()


def test_mistakes(keras: Any) -> None:
    with pytest.raises(MoxTypeError, match="Adagrad was given learning_rate twice"):
        keras.optimizers.Adagrad(0.1, lr=0.1)
    with pytest.raises(MoxTypeError, match=r"takes 3 arguments by place \(learning_rate, epsilon"):
        keras.optimizers.Adagrad(0.1, 1e-7, 0.0, True)
