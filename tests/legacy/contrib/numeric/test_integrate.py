"""`tf.contrib.integrate`, beside solutions in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.legacy.contrib.numeric import integrate

_TIMES = np.array([0.0, 0.5, 0.75, 2.0])


def _run(make: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def _turning(y: Any, t: Any) -> Any:
    """A pendulum of small swings: the solution is (cos t, -sin t)."""
    return tf.stack([y[1], -y[0]])


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32])
def test_adaptive_steps_meet_the_tolerance(dtype: Any) -> None:
    y0 = np.array([1.0, 0.0])
    got = _run(
        lambda: integrate.odeint(_turning, tf.constant(y0, dtype), _TIMES, rtol=1e-6, atol=1e-8)
    )
    assert got.shape == (4, 2)
    expected = np.stack([np.cos(_TIMES), -np.sin(_TIMES)], axis=1)
    assert np.allclose(got, expected, atol=1e-5)


def test_a_smaller_tolerance_has_a_smaller_error() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [
            integrate.odeint(lambda y, t: -2 * t * y, tf.constant(1.0, tf.float64), _TIMES, rtol)
            for rtol in (1e-3, 1e-9)
        ]
        loose, tight = (abs(part - np.exp(-(_TIMES**2))).max() for part in session.run(parts))
    assert tight < 1e-8
    assert tight < loose < 1e-2


@pytest.mark.parametrize(("method", "order"), [("midpoint", 2), ("rk4", 4)])
def test_the_error_of_fixed_steps_falls_by_the_order(method: str, order: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = [
            integrate.odeint_fixed(
                _turning, tf.constant([1.0, 0.0], tf.float64), _TIMES, dt, method
            )
            for dt in (0.05, 0.025)
        ]
        errors = [abs(got[-1, 0] - np.cos(2.0)) for got in session.run(made)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_an_interval_is_one_step_by_default() -> None:
    got = _run(
        lambda: integrate.odeint_fixed(
            lambda y, t: y, tf.constant(1.0, tf.float64), [0.0, 0.5, 1.0], method="midpoint"
        )
    )
    assert np.allclose(got, [1.0, 1.625, 1.625**2])


def test_gradients_pass_through_the_solution() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rate = tf.constant(0.3, tf.float64)
        y = integrate.odeint(lambda y, t: rate * y, tf.constant(1.0, tf.float64), [0.0, 2.0])
        gradient = session.run(tf.gradients(y[-1], rate)[0])
    assert gradient == pytest.approx(2 * np.exp(0.6), rel=1e-4)


def test_mistakes_are_told() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one = tf.constant(1.0, tf.float64)
        with pytest.raises(MoxValueError, match="'euler'"):
            integrate.odeint_fixed(_turning, one, _TIMES, method="euler")
        with pytest.raises(MoxValueError, match="dopri5"):
            integrate.odeint(_turning, one, _TIMES, method="adams")
        with pytest.raises(MoxValueError, match="'steps'"):
            integrate.odeint(_turning, one, _TIMES, method="dopri5", options={"steps": 3})
        with pytest.raises(MoxNotSupportedError, match="full_output"):
            integrate.odeint(_turning, one, _TIMES, full_output=True)
        with pytest.raises(MoxValueError, match="int32"):
            integrate.odeint(_turning, tf.constant(1), _TIMES)
        back = integrate.odeint(lambda y, t: y, one, [0.0, 2.0, 1.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must rise"):
            session.run(back)
        short = integrate.odeint(
            lambda y, t: y,
            one,
            [0.0, 1.0],
            method="dopri5",
            options={"max_num_steps": 2, "first_step": 1e-3},
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps=2"):
            session.run(short)
