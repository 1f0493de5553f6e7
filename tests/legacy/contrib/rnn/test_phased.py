"""The gate of PhasedLSTMCell: its times, and the gradient of its period (TensorFlow 1.15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import rnn


def _openness(time: Any, period: float, session: Any) -> tuple[Any, Any]:
    """The openness of a gate that is always closed by a leak of 0.5, and the period's gradient."""
    cell = rnn.PhasedLSTMCell(1, leak=0.5, ratio_on=1e-6)
    with tf.variable_scope("cell"):
        opened = cell._openness(tf.constant(time), tf.float32)
    variables = {variable.op.name: variable for variable in tf.trainable_variables()}
    session.run(tf.global_variables_initializer())
    variables["cell/period"].load([period], session)
    variables["cell/phase"].load([0.0], session)
    gradient = tf.gradients(opened, variables["cell/period"])[0]
    return session.run([opened, gradient])


def test_the_gradient_of_the_period_takes_the_number_of_periods_as_given() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        opened, gradient = _openness(np.array([[7.5]], np.float32), 2.0, session)
    # The rest is 1.5: leak * rest / period, of which the rest does not depend on the period.
    assert opened.tolist() == [[pytest.approx(0.5 * 1.5 / 2)]]
    assert gradient.tolist() == [pytest.approx(-0.5 * 1.5 / 4)]


def test_times_of_float64_keep_what_float32_has_no_digits_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        opened, _ = _openness(np.array([[1.6e9 + 0.25]]), 1.0, session)
    assert opened.dtype == np.float32
    assert opened.tolist() == [[pytest.approx(0.5 * 0.25)]]
