"""Few points stand for many, and no spike is lost."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from moxing.engine.reporting.records.thin import Series, thin

numbers = st.floats(allow_nan=True, allow_infinity=True)


def _series(values: list[float]) -> Series:
    series = Series()
    for step, value in enumerate(values):
        series.add(10 * step, value)
    return series


@given(st.lists(numbers, max_size=300), st.integers(5, 60))
def test_extremes_and_ends_stay_in_order(values: list[float], most: int) -> None:
    series = _series(values)
    points = thin(series, most)
    assert len(points) <= most
    steps = [step for step, _ in points]
    assert steps == sorted(set(steps))
    known = dict(zip(series.steps, series.values, strict=True))
    assert all(known[s] == v or (math.isnan(known[s]) and math.isnan(v)) for s, v in points)
    if values:
        assert (steps[0], steps[-1]) == (0, 10 * (len(values) - 1))
    finite = [value for value in values if math.isfinite(value)]
    if finite:
        kept = [value for _, value in points]
        assert min(finite) in kept
        assert max(finite) in kept
    assert any(not math.isfinite(v) for _, v in points) == (len(finite) < len(values))


def test_a_spike_among_a_million_stays() -> None:
    values = [1.0] * 1_000_000
    values[654_321], values[77] = 9.0, math.nan
    points = thin(_series(values), 1000)
    assert (6_543_210, 9.0) in points
    assert [step for step, value in points if math.isnan(value)] == [770]
    assert len(points) <= 1000
