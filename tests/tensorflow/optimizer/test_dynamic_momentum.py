"""Cyclical momentum, with L2 in the loss or with decoupled decay, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer
from moxing.tensorflow.optimizer.dynamic_momentumw import DyMomentumWOptimizer
from moxing.tensorflow.optimizer.learning_rate_scheduler import linear_cosine_decay

SHAPES = {"kernel": (3, 2), "bias": (2,)}
START = {"kernel": np.arange(6.0).reshape(3, 2) / 3 + 0.5, "bias": np.array([0.3, -0.2])}
HIGH, LOW, TOP, BOTTOM, LENGTH, COOLDOWN = 0.98, 0.85, 0.4, 0.02, 10, 0.2


def rate_at(step: int) -> float:
    progress = step / LENGTH
    rise = min(progress / 0.3, 1.0)
    fall = min(max((progress - 0.3) / 0.5, 0.0), 1.0)
    return BOTTOM + (TOP - BOTTOM) * rise * (1 - fall) * 0.5 * (1 + np.cos(np.pi * fall))


def momentum_at(step: int) -> float:
    if step >= (1 - COOLDOWN) * LENGTH:
        return HIGH
    return HIGH - (HIGH - LOW) * (rate_at(step) - BOTTOM) / (TOP - BOTTOM)


def make(cls: Any, **kwargs: Any) -> Any:
    def build() -> tf.train.Optimizer:
        step = tf.train.get_or_create_global_step()
        rate = linear_cosine_decay(TOP, BOTTOM, step, LENGTH, 0.3, 0.8)
        return cls(
            rate,
            TOP,
            BOTTOM,
            max_mom=HIGH,
            min_mom=LOW,
            global_step=step,
            max_iteration=LENGTH,
            cooldown=COOLDOWN,
            **kwargs,
        )

    return build


def reference(
    steps: list[dict[str, np.ndarray]],
    nesterov: bool = False,
    decoupled: bool = False,
    lars: bool = False,
    decay: float = 0.0,
) -> dict[str, np.ndarray]:
    weights = {name: value.copy() for name, value in START.items()}
    accum = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    for at, step in enumerate(steps):
        rate, momentum = rate_at(at), momentum_at(at)
        for name, w in weights.items():
            g, factor = step[name].astype(np.float64), 1.0
            if lars and w.ndim > 1:
                norm = np.linalg.norm(w)
                factor = 0.001 * norm / (np.linalg.norm(g) + decay * norm)
            accum[name] = momentum * accum[name] + factor * g
            move = factor * g + momentum * accum[name] if nesterov else accum[name]
            shrink = rate * factor * decay * w if decoupled and w.ndim > 1 else 0.0
            weights[name] = w - rate * move - shrink
    return weights


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("lars", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
def test_the_rule(nesterov: bool, lars: bool, decoupled: bool, follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, LENGTH)
    cls = DyMomentumWOptimizer if decoupled else DyMomentumOptimizer
    seen = follow(make(cls, use_nesterov=nesterov, use_lars=lars, weight_decay=0.05), START, steps)
    wanted = reference(steps, nesterov, decoupled, lars, decay=0.05)
    for name in SHAPES:
        np.testing.assert_allclose(seen.weights[-1][name], wanted[name], rtol=2e-5, atol=1e-6)


def test_the_momentum_mirrors_the_learning_rate() -> None:
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        momentum = make(DyMomentumOptimizer)().get_momentum()
        assert momentum.shape == ()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            seen = []
            for at in range(LENGTH + 2):
                step.load(at, session)
                seen.append(session.run(momentum))
    np.testing.assert_allclose(seen, [momentum_at(at) for at in range(LENGTH + 2)], rtol=1e-6)
    assert min(seen) == pytest.approx(LOW)


def test_a_learning_rate_outside_its_range_keeps_the_momentum_inside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        low = DyMomentumOptimizer(1e-4, 0.4, 0.02).get_momentum()
        high = DyMomentumOptimizer(5.0, 0.4, 0.02).get_momentum()
        assert session.run([low, high]) == [np.float32(0.95), np.float32(0.85)]


def test_decay_and_gradient_use_the_weights_before_the_step() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        var = tf.get_variable("w", initializer=np.full((2, 2), 3.0, np.float32))
        optimizer = DyMomentumWOptimizer(0.1, 0.2, 0.01, weight_decay=0.5)
        train_op = optimizer.minimize(tf.reduce_sum(var**2))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op)
            seen = session.run(var)
    np.testing.assert_allclose(seen, 3.0 - 0.1 * 6.0 - 0.1 * 0.5 * 3.0, rtol=1e-6)


@pytest.mark.parametrize("lars", [False, True])
def test_sparse_gradients(lars: bool) -> None:
    weights = []
    for sparse in (True, False):
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            table = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
            picked = tf.gather(table, [0, 2, 2]) if sparse else table * [[1.0], [0.0], [2.0]]
            optimizer = DyMomentumWOptimizer(
                0.1, 0.2, 0.01, weight_decay=0.1, use_lars=lars, lars_ratio=0.5
            )
            train_op = optimizer.minimize(tf.reduce_sum(picked))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(train_op)
                weights.append(session.run(table))
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        (
            {"max_learning_rate": 0.1, "min_learning_rate": 0.1},
            MoxValueError,
            "min_learning_rate is 0.1 and max_learning_rate is 0.1; they must satisfy "
            "0 <= min_learning_rate < max_learning_rate.",
        ),
        (
            {"max_momentum": 0.8, "min_momentum": 0.9},
            MoxValueError,
            "min_momentum is 0.9 and max_momentum is 0.8; they must satisfy "
            "0 <= min_momentum <= max_momentum < 1.",
        ),
        ({"cooldown": 1.0}, MoxValueError, "cooldown is 1.0; it must be in [0, 1)."),
        (
            {"cooldown": 0.1},
            MoxValueError,
            "cooldown is a share of the run, so max_iteration must be its number of steps, at "
            "least 1; it is None.",
        ),
        ({"weight_decay": -1.0}, MoxValueError, "weight_decay is -1.0; it must be at least 0."),
        ({"lars_ratio": 0.0}, MoxValueError, "lars_ratio is 0.0; it must be above 0."),
        (
            {"max_mom": 0.9, "max_momentum": 0.9},
            MoxTypeError,
            "max_mom and max_momentum are the same argument.",
        ),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    given = {"max_learning_rate": 0.4, "min_learning_rate": 0.02, **kwargs}
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        DyMomentumOptimizer(0.1, **given)
    assert str(caught.value) == f"DyMomentumOptimizer: {message}"
