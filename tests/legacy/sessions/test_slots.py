"""Optimizers and moving averages work in scopes that reuse variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.sessions import slots

OPTIMIZERS = (
    tf.train.AdamOptimizer,
    tf.train.RMSPropOptimizer,
    lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    tf.train.AdagradOptimizer,
)


@pytest.fixture(autouse=True)
def lenient() -> Iterator[None]:
    slots.install()
    slots.install()
    yield
    slots.uninstall()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="does not exist"):
        minimized(tf.train.AdamOptimizer)


def minimized(make: Callable[[float], Any]) -> tuple[Any, Any]:
    """A weight and the step of training it, made after the scope began to reuse variables."""
    with tf.variable_scope("model") as scope:
        weight = tf.get_variable("w", initializer=[3.0, 4.0])
        scope.reuse_variables()
        return weight, make(0.1).minimize(tf.nn.l2_loss(tf.get_variable("w", [2])))


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_optimizers_make_their_variables(make: Callable[[float], Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        weight, step = minimized(make)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        assert (session.run(weight) < [3.0, 4.0]).all()
        with tf.variable_scope("model", reuse=True), pytest.raises(ValueError, match="not exist"):
            tf.get_variable("none", [1])


def test_an_average_is_made_once_and_then_shared() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for reuse in (False, True):
            with tf.variable_scope("model", reuse=reuse):
                weight = tf.get_variable("w", initializer=2.0)
            average = tf.train.ExponentialMovingAverage(0.5)
            with tf.variable_scope("averages", reuse=True):
                update = average.apply([weight])
        session.run(tf.global_variables_initializer())
        session.run(weight.assign(4.0))
        session.run(update)
        np.testing.assert_allclose(session.run(average.average(weight)), 3.0)
