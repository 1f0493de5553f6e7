"""`tf.contrib.sparsemax`, beside the definition: the nearest point of the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from scipy import optimize

from moxing.legacy.contrib.numeric import sparsemax as module


def _nearest(row: Any) -> Any:
    """The threshold is the number for which the parts above it add up to 1."""
    threshold = optimize.brentq(
        lambda t: np.maximum(row - t, 0).sum() - 1, row.max() - 1, row.max()
    )
    return np.maximum(row - threshold, 0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_rows_are_the_nearest_points_of_the_simplex(scale: float) -> None:
    z = np.random.RandomState(3).randn(6, 7) * scale
    with tf.Graph().as_default(), tf.Session() as session:
        got = session.run(module.sparsemax(tf.constant(z)))
    assert got.dtype == np.float64
    assert np.allclose(got, [_nearest(row) for row in z], atol=1e-9)


def test_the_gradient_of_the_loss_is_the_difference_to_the_truth() -> None:
    z = np.random.RandomState(4).randn(5, 4)
    truth = np.eye(4)[[0, 1, 2, 3, 0]]
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.constant(z)
        probabilities = module.sparsemax(logits)
        loss = module.sparsemax_loss(logits, probabilities, tf.constant(truth))
        values, p, gradient = session.run([loss, probabilities, tf.gradients(loss, logits)[0]])
    support = p > 0
    taus = [(row[kept].sum() - 1) / kept.sum() for row, kept in zip(z, support, strict=True)]
    # Martins and Astudillo 2016, equation 21, with the truth's own half square.
    expected = [
        -row @ t + 0.5 * ((row[kept] ** 2) - tau**2).sum() + 0.5 * (t @ t)
        for row, t, kept, tau in zip(z, truth, support, taus, strict=True)
    ]
    assert np.allclose(values, expected)
    assert (values >= 0).all()
    assert np.allclose(gradient, p - truth)


def test_logits_of_minus_infinity_have_no_part_and_rows_of_nan_none() -> None:
    z = np.array([[0.0, -np.inf, 0.0], [np.nan, 1.0, 2.0]])
    truth = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.constant(z)
        probabilities = module.sparsemax(logits)
        loss = module.sparsemax_loss(logits, probabilities, tf.constant(truth))
        got, values = session.run([probabilities, loss])
    assert np.allclose(got[0], [0.5, 0.0, 0.5])
    assert np.isnan(got[1]).all()
    assert np.allclose(values[0], 0.25)
    assert np.isnan(values[1])
