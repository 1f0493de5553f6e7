"""Schedules of tf.keras.experimental, against the formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moxing.legacy.keras.older import schedules


@pytest.mark.parametrize("step", [0, 10, 50, 100, 200])
@pytest.mark.parametrize(("periods", "alpha", "beta"), [(0.5, 0.0, 0.001), (2.0, 0.1, 0.01)])
def test_the_rate_falls_linearly_times_a_cosine(
    step: int, periods: float, alpha: float, beta: float
) -> None:
    share = min(step / 100, 1.0)
    cosine = 0.5 * (1 + math.cos(2 * math.pi * periods * share))
    expected = 0.2 * ((alpha + 1 - share) * cosine + beta)

    made = schedules.LinearCosineDecay(0.2, 100, periods, alpha, beta)
    silent = schedules.NoisyLinearCosineDecay(0.2, 100, 0.0, 0.55, periods, alpha, beta)

    assert float(made(step)) == pytest.approx(expected, rel=1e-5)
    assert float(silent(step)) == pytest.approx(expected, rel=1e-5)
    assert type(made).from_config(made.get_config()).get_config() == made.get_config()


def test_noise_has_the_variance_of_the_step() -> None:
    made = schedules.NoisyLinearCosineDecay(1.0, 100, 4.0, 0.5, num_periods=0.0, beta=0.0)
    rates = [float(made(15)) for _ in range(400)]
    assert np.mean(rates) == pytest.approx(0.85, abs=0.2)
    assert np.std(rates) == pytest.approx(math.sqrt(4.0 / math.sqrt(16)), rel=0.15)
