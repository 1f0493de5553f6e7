"""Models with several optimizers, and what a step does behind an update."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, eagerly

import moxing.keras
from moxing.errors import MoxNotSupportedError


def same(one: Any, other: Any) -> None:
    """Two models have equal weights, and their optimizers equal states."""
    for left, right in zip(values(one), values(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


def values(model: Any) -> list[np.ndarray]:
    found = list(model.weights)
    for optimizer in getattr(model, "players", None) or (model.one, model.other):
        variables: Any = optimizer.variables
        if callable(variables):
            variables = variables()
        found += [*variables]
    return [np.asarray(variable.numpy()) for variable in found]


def two_players(package: str, in_list: bool = False, late: str | None = None) -> Any:
    """A generator and a discriminator, with an optimizer each; `late` is used behind an update."""
    keras = importlib.import_module(package)

    class Players(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = keras.layers.Dense(8)
            self.second = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.second(self.first(x))

        def compile(self) -> None:  # type: ignore[override]
            super().compile()
            self.players = [keras.optimizers.Adam(0.05), keras.optimizers.SGD(0.1, momentum=0.9)]
            if not in_list:
                self.one, self.other = self.players
                del self.players

        def train_step(self, data: Any) -> Any:
            x = data[0] if isinstance(data, tuple) else data
            one, other = self.players if in_list else (self.one, self.other)
            with tf.GradientTape(persistent=True) as tape:
                real = tf.reduce_mean((self.second(x) - 1) ** 2)
                made = tf.reduce_mean(self(x) ** 2)
            for optimizer, loss, layer in ((one, real, self.second), (other, made, self.first)):
                weights = layer.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            logs = {"real": real, "made": made}
            if late == "read":
                logs["late"] = tf.reduce_mean(self.second(x))
            if late == "twice":
                weights = self.first.trainable_variables
                one.apply_gradients(zip(tape.gradient(made, weights), weights, strict=True))
            return logs

    keras.utils.set_random_seed(0)
    model = Players()
    model(X[:2])
    model.second(X[:2])
    model.compile()
    return model


@pytest.mark.parametrize(("package", "in_list"), [("keras", True), ("tf_keras", False)])
def test_each_optimizer_updates_its_own_weights(package: str, in_list: bool) -> None:
    theirs, ours, shared = (two_players(package, in_list) for _ in range(3))
    eagerly(theirs).fit(X, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    moxing.keras.fit(ours, X, batch_size=BATCH, epochs=2, shuffle=False)
    moxing.keras.fit(shared, X, batch_size=BATCH, epochs=2, shuffle=False, num_gpus=2)
    same(theirs, ours)
    same(theirs, shared)


def in_step_only(package: str, odd: bool) -> Any:
    """A generator and a discriminator that only `train_step` builds; `odd` has another `call`."""
    keras = importlib.import_module(package)

    class Players(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = keras.layers.Dense(8)
            self.second = keras.layers.Dense(1)

        def compile(self) -> None:  # type: ignore[override]
            super().compile()
            self.one, self.other = keras.optimizers.Adam(0.05), keras.optimizers.SGD(0.1)

        def train_step(self, data: Any) -> Any:
            x = data[0] if isinstance(data, tuple) else data
            with tf.GradientTape(persistent=True) as tape:
                made = self.first(x)
                real = tf.reduce_mean((self.second(made) - 1) ** 2)
            for optimizer, layer in ((self.one, self.second), (self.other, self.first)):
                weights = layer.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(real, weights), weights, strict=True))
            return {"real": real}

    def call(self: Any, pair: Any) -> Any:
        return self.second(pair["first"] + pair["second"])

    keras.utils.set_random_seed(0)
    model = type("Odd", (Players,), {"call": call})() if odd else Players()
    if package == "tf_keras":  # Whose first values depend on the graph that they are made in.
        model.first.build(X.shape)
        model.second.build((BATCH, 8))
    model.compile()
    return model


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("package", FAMILIES)
def test_a_model_that_only_its_step_builds(package: str, odd: bool) -> None:
    theirs, ours, shared = (in_step_only(package, odd) for _ in range(3))
    theirs.fit(X, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    moxing.keras.fit(ours, X, batch_size=BATCH, epochs=2, shuffle=False)
    moxing.keras.fit(shared, X, batch_size=BATCH, epochs=2, shuffle=False, num_gpus=2)
    same(theirs, ours)
    same(theirs, shared)


@pytest.mark.parametrize("package", FAMILIES)
def test_their_states_are_in_the_checkpoint(package: str, tmp_path: Path) -> None:
    whole, parts = two_players(package), two_players(package)
    steps = 4
    moxing.keras.fit(whole, X, batch_size=BATCH, steps=steps, shuffle=False)
    for until in (steps // 2, steps):
        moxing.keras.fit(
            parts, X, batch_size=BATCH, steps=until, shuffle=False, output_dir=str(tmp_path)
        )
        parts = parts if until == steps else two_players(package)
    same(whole, parts)


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(
    ("late", "message"),
    [
        ("read", "after Adam has updated it"),
        ("twice", r"updates weights 2 times with Adam"),
    ],
)
def test_a_step_that_needs_the_update_is_refused(package: str, late: str, message: str) -> None:
    with pytest.raises(MoxNotSupportedError, match=message):
        moxing.keras.fit(two_players(package, late=late), X, batch_size=BATCH, steps=2)


def test_a_step_that_clips_weights_behind_the_update_is_refused() -> None:
    keras = importlib.import_module("keras")

    class Clipped(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            logs = super().train_step(data)
            for weight in self.trainable_variables:
                weight.assign(tf.clip_by_value(weight, -0.01, 0.01))
            return logs

    model = Clipped([keras.layers.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(MoxNotSupportedError, match="uses .*kernel.* after SGD has updated it"):
        moxing.keras.fit(model, X, np.ones((len(X), 1)), batch_size=BATCH, steps=1)
