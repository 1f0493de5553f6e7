"""Axes have round ticks inside their ends, for any finite numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.engine.reporting.records.scale import fitting, label, linear

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=5))
def test_every_value_lies_on_its_axis(values: list[float]) -> None:
    scale = fitting(values)
    for value in values:
        assert -1e-6 <= scale.at(value) <= 1 + 1e-6
    assert len(scale.ticks) <= 12
    assert all(math.isfinite(scale.at(tick)) for tick in scale.ticks)


def test_round_ticks() -> None:
    assert linear(0, 100).ticks == (0, 20, 40, 60, 80, 100)
    assert linear(0, 7).ticks == (0, 2, 4, 6)
    assert linear(3, 3).low < 3 < linear(3, 3).high


def test_values_far_apart_get_a_logarithmic_axis() -> None:
    scale = fitting([1e-4, 0.5, 10.0])
    assert scale.log
    assert scale.ticks == pytest.approx((1e-4, 1e-3, 1e-2, 1e-1, 1, 10))
    assert scale.at(0.01) == pytest.approx(0.4)
    assert not fitting([-1.0, 1e6]).log


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (6000.0, "6000"),
        (20000.0, "20k"),
        (1.5e6, "1.5M"),
        (-3e9, "-3G"),
        (1e-5, "1e-05"),
        (1e300, "1e+300"),
    ],
)
def test_labels_are_short(value: float, text: str) -> None:
    assert label(value) == text
