"""Models, data and comparisons for the tests of `moxing.keras`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

FAMILIES = ("keras", "tf_keras")
CHANCE = np.random.RandomState(0)
X = CHANCE.randn(130, 8).astype(np.float32)
Y = (X @ CHANCE.randn(8, 3)).argmax(1)
BATCH = 32


def dense(package: str, optimizer: Any = "adam", *between: str, **compiled: Any) -> Any:
    """A compiled classifier of X, with further layers between its two."""
    keras: Any = importlib.import_module(package)
    keras.utils.set_random_seed(0)
    layers = keras.layers
    others: dict[str, Any] = {
        "norm": layers.BatchNormalization,
        "drop": lambda: layers.Dropout(0.3),
    }
    model = keras.Sequential(
        [
            layers.Input((8,)),
            layers.Dense(16, activation="relu"),
            *(others[name]() for name in between),
            layers.Dense(3, activation="softmax", kernel_regularizer="l2"),
        ]
    )
    given = {"metrics": ["accuracy"], **compiled}
    if isinstance(optimizer, tuple):
        name, arguments = optimizer
        optimizer = getattr(keras.optimizers, name)(**arguments)
    model.compile(optimizer, "sparse_categorical_crossentropy", **given)
    return model


def eagerly(model: Any) -> Any:
    """The model, whose `fit` of Keras computes the same without tracing functions first."""
    model.run_eagerly = True
    return model


def values(model: Any) -> list[np.ndarray]:
    """Every value of a model and its optimizer."""
    variables: Any = model.optimizer.variables
    if callable(variables):
        variables = variables()
    found = [*model.weights, *variables]
    return [np.asarray(variable.numpy(), np.float64) for variable in found]


def assert_equal(left: Any, right: Any, tolerance: float = 1e-5) -> None:
    """Two models with their optimizers are the same."""
    one, other = values(left), values(right)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def assert_histories(left: dict[str, list[float]], right: dict[str, list[float]]) -> None:
    """Two histories have the same names and values."""
    assert sorted(left) == sorted(right)
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-4, atol=1e-5, err_msg=name)
