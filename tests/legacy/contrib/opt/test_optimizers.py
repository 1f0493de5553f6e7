"""Each optimizer's steps against its formula, on reference and on resource variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import opt

START = np.array([1.0, -2.0, 0.5])
STEPS = 3


def gradient(w: np.ndarray) -> np.ndarray:
    """Of sum(w ** 2 * (1, 2, 3)) / 2."""
    return w * np.array([1.0, 2.0, 3.0])


def trained(optimizer: Any, resource: bool) -> np.ndarray:
    w = tf.get_variable("w", initializer=START, use_resource=resource)
    loss = tf.reduce_sum(tf.square(w) * [1.0, 2.0, 3.0]) / 2
    step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(step)
        return session.run(w)


def adamax() -> np.ndarray:
    w, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(w)
        m, v = 0.9 * m + 0.1 * g, np.maximum(0.999 * v, np.abs(g))
        w = w - 0.1 / (1 - 0.9**t) * m / (v + 1e-8)
    return w


def nadam() -> np.ndarray:
    w, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = w - rate * (0.9 * m + 0.1 * g) / (np.sqrt(v) + 1e-8)
    return w


def adam(decay: float = 0.0) -> np.ndarray:
    w, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(w)
        w = w - decay * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    return w


def momentum_w() -> np.ndarray:
    w, a = START.copy(), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(w)
        w = w - 0.05 * w
        a = 0.9 * a + g
        w = w - 0.1 * a
    return w


def signs(scale: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    w, m = START.copy(), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(w)
        m = 0.9 * m + 0.1 * g
        w = w - 0.1 * scale(np.sign(g) * np.sign(m)) * g
    return w


def lars() -> np.ndarray:
    w, a = START.copy(), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(w)
        length, slope = np.linalg.norm(w), np.linalg.norm(g)
        rate = 0.1 * 0.001 * length / (slope + 0.01 * length)
        a = 0.9 * a + rate * (g + 0.01 * w)
        w = w - a
    return w


OPTIMIZERS: dict[str, tuple[Callable[[], Any], Callable[[], np.ndarray]]] = {
    "adamax": (lambda: opt.AdaMaxOptimizer(0.1), adamax),
    "nadam": (lambda: opt.NadamOptimizer(0.1), nadam),
    "lazy adam": (lambda: opt.LazyAdamOptimizer(0.1), adam),
    "adamw": (lambda: opt.AdamWOptimizer(0.05, 0.1), lambda: adam(0.05)),
    "momentumw": (lambda: opt.MomentumWOptimizer(0.05, 0.1, 0.9), momentum_w),
    "extended": (
        lambda: opt.extend_with_decoupled_weight_decay(tf.train.AdamOptimizer)(0.05, 0.1),
        lambda: adam(0.05),
    ),
    "addsign": (lambda: opt.AddSignOptimizer(0.1), lambda: signs(lambda s: 1 + s)),
    "powersign": (lambda: opt.PowerSignOptimizer(0.1), lambda: signs(np.exp)),
    "lars": (lambda: opt.LARSOptimizer(0.1, weight_decay=0.01), lars),
}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_follow_the_formula(name: str, resource: bool) -> None:
    make, reference = OPTIMIZERS[name]
    with tf.Graph().as_default():
        found = trained(make(), resource)

    np.testing.assert_allclose(found, reference(), rtol=1e-4)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("resource", [False, True])
def test_rows_get_plain_momentum_of_lars(resource: bool, nesterov: bool) -> None:
    def moved(make: Callable[[], Any], name: str) -> np.ndarray:
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.get_variable(name, initializer=np.ones([3, 2]), use_resource=resource)
            step = make().minimize(tf.reduce_sum(tf.square(tf.gather(w, [0, 2, 2]))))
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(step)
            return session.run(w)

    lars = moved(lambda: opt.LARSOptimizer(0.01, use_nesterov=nesterov), "w")
    plain = moved(lambda: tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=nesterov), "w")
    np.testing.assert_allclose(lars, plain, rtol=1e-6)


def test_lars_keeps_the_sum_of_scaled_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=np.array([3.0, 4.0], np.float32))
        optimizer = opt.LARSOptimizer(0.5, eeta=0.1, weight_decay=0.0)
        step = optimizer.minimize(tf.reduce_sum(w))
        session.run(tf.global_variables_initializer())
        session.run(step)
        value, slot = session.run([w, optimizer.get_slot(w, "momentum")])
    # The rate of the layer is 0.5 * 0.1 * |w| / |gradient|, with |w| 5 and |gradient| sqrt(2).
    np.testing.assert_allclose(slot, [0.25 / 2**0.5] * 2, rtol=1e-6)
    np.testing.assert_allclose(value, np.array([3.0, 4.0], np.float32) - slot, rtol=1e-6)


@pytest.mark.parametrize("resource", [False, True])
def test_lazy_adam_leaves_rows_without_a_gradient_alone(resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=np.ones([3, 2]), use_resource=resource)
        rows = tf.placeholder(tf.int32, [None])
        optimizer = opt.LazyAdamOptimizer(0.1)
        step = optimizer.minimize(tf.reduce_sum(tf.square(tf.gather(w, rows))))
        session.run(tf.global_variables_initializer())
        session.run(step, {rows: [0, 2]})
        session.run(step, {rows: [2]})
        value, m = session.run([w, optimizer.get_slot(w, "m")])

    # The first row has one step; a usual Adam would move it twice.
    np.testing.assert_allclose(value[0], 0.9, rtol=1e-6)
    np.testing.assert_allclose(m[0], 0.2, rtol=1e-6)
    assert (value[1] == 1).all()
    assert (m[1] == 0).all()
    assert (value[2] < 0.85).all()


def test_only_named_variables_decay_and_only_their_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.get_variable("a", initializer=[1.0, 1.0])
        b = tf.get_variable("b", initializer=[1.0, 1.0])
        loss = tf.reduce_sum(tf.gather(a, [0])) + tf.reduce_sum(b)
        step = opt.MomentumWOptimizer(0.5, 0.1, 0.0).minimize(loss, decay_var_list=[a])
        session.run(tf.global_variables_initializer())
        session.run(step)
        found = session.run([a, b])

    np.testing.assert_allclose(found, [[0.4, 1.0], [0.9, 0.9]], rtol=1e-6)


def test_a_saver_writes_averages_in_the_place_of_variables(tmp_path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[4.0])
        moving = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
        with pytest.raises(ValueError, match="before swapping_saver"):
            moving.swapping_saver()
        step = moving.minimize(tf.reduce_sum(w))
        saver = moving.swapping_saver()
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = saver.save(session, str(tmp_path / "model"))

        assert session.run(w).tolist() == [3.0]
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_tensor("w").tolist() == [3.5]
    assert reader.get_tensor("w/ExponentialMovingAverage").tolist() == [3.0]


def test_lengths_are_limited() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[[3.0, 4.0], [0.3, 0.4]])
        inner = tf.train.GradientDescentOptimizer(0.0)
        step = opt.VariableClippingOptimizer(inner, {w: [1]}, 1.0).minimize(tf.reduce_sum(w))
        clipped = opt.clip_gradients_by_global_norm([(tf.constant([3.0, 4.0]), w)], 1.0)
        session.run(tf.global_variables_initializer())
        session.run(step)
        found, (gradient, same) = session.run(w), clipped[0]

        np.testing.assert_allclose(found, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
        np.testing.assert_allclose(session.run(gradient), [0.6, 0.8], rtol=1e-6)
        assert same is w


@pytest.mark.parametrize("resource", [False, True])
def test_scipy_finds_minima_with_bounds_and_constraints(resource: bool) -> None:
    pytest.importorskip("scipy")
    steps: list[Any] = []
    losses: list[float] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.get_variable("x", initializer=[7.0, 7.0], use_resource=resource)
        loss = tf.reduce_sum(tf.square(x - [1.0, 2.0]))
        free = opt.ScipyOptimizerInterface(loss, options={"maxiter": 100})
        bound = opt.ScipyOptimizerInterface(loss, var_to_bounds={x: ([3.0, -9.0], np.inf)})
        tied = opt.ScipyOptimizerInterface(
            loss, equalities=[x[0] - x[1]], inequalities=[x[0] - 5.0], method="SLSQP"
        )
        session.run(tf.global_variables_initializer())
        free.minimize(
            session, step_callback=steps.append, fetches=[loss], loss_callback=losses.append
        )
        one = session.run(x)
        bound.minimize(session)
        two = session.run(x)
        tied.minimize(session)
        three = session.run(x)

    np.testing.assert_allclose(one, [1, 2], atol=1e-3)
    np.testing.assert_allclose(two, [3, 2], atol=1e-3)
    np.testing.assert_allclose(three, [5, 5], atol=1e-3)
    assert steps
    assert losses[-1] < losses[0]
