"""Learning rates are chosen off curves of which the right answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from moxing.tensorflow.auto.curve import (
    Curve,
    StopRule,
    best_value,
    choose_rate,
    diverged,
    smooth,
    window_of,
)


def _curve(value: Callable[[float], float], grows: bool = False, last: float = 10.0) -> Curve:
    """A metric over 101 rates from 1e-4 on."""
    curve = Curve(grows)
    for index in range(101):
        rate = 1e-4 * (last / 1e-4) ** (index / 100)
        curve.add(rate, value(rate))
    return curve


def _falls_at(rate: float) -> Callable[[float], float]:
    """A loss that falls from 1 to 0, halfway at a rate."""
    return lambda tried: 1.0 / (1.0 + (tried / rate) ** 2)


def test_the_mean_is_around_each_value_and_shorter_at_the_ends() -> None:
    assert smooth([0.0, 3.0, 6.0, 9.0], 1) == [0.0, 3.0, 6.0, 9.0]
    assert smooth([0.0, 3.0, 6.0, 9.0], 3) == [1.5, 3.0, 6.0, 7.5]
    assert smooth([0.0, 3.0, 6.0, 9.0], 2) == [1.5, 4.5, 7.5, 9.0]
    assert smooth([], 3) == []


def test_a_mean_is_over_a_tenth_of_the_range_at_most() -> None:
    assert [window_of(50, steps) for steps in (1, 9, 100, 499, 500, 9000)] == [1, 1, 10, 49, 50, 50]


@pytest.mark.parametrize("middle", [1e-3, 1e-2, 0.1])
def test_the_rate_is_where_nearly_all_was_won(middle: float) -> None:
    rate = choose_rate(_curve(_falls_at(middle)), 1)
    assert rate is not None
    assert 3 * middle < rate < 6 * middle  # Of the fall, 95 % are made at sqrt(19) times as much.


def test_more_of_an_accuracy_is_better() -> None:
    falls = _falls_at(0.01)
    up = choose_rate(_curve(lambda rate: 1.0 - falls(rate), grows=True), 5)
    assert up == choose_rate(_curve(falls), 5)


def test_the_rate_stays_away_from_where_training_broke_off() -> None:
    curve = _curve(_falls_at(1.0), last=5.0)
    curve.broke = "loss: it was nan"
    assert choose_rate(curve, 1) == pytest.approx(5.0 / 4)


def test_what_never_got_better_has_no_rate() -> None:
    assert choose_rate(_curve(lambda rate: 1.0), 5) is None
    assert choose_rate(_curve(lambda rate: rate), 5) is None
    assert choose_rate(Curve(False), 5) is None
    assert choose_rate(_curve(lambda rate: math.nan), 5) is None


def test_values_that_are_not_finite_count_for_nothing() -> None:
    falls = _falls_at(0.01)
    curve = _curve(lambda rate: falls(rate) if rate < 1.0 else math.nan)
    assert choose_rate(curve, 1) == pytest.approx(choose_rate(_curve(falls), 1), rel=0.05)
    assert best_value(curve, 1) < 1e-3
    assert best_value(_curve(lambda rate: math.nan), 1) == math.inf
    assert best_value(_curve(lambda rate: math.inf, grows=True), 1) == -math.inf


def test_a_loss_far_above_its_start_has_diverged() -> None:
    assert diverged(_made([1.0, 2.0, 9.0]), 1)
    assert not diverged(_made([1.0, 9.0, 2.0]), 1)
    assert diverged(_made([1.0, 0.5, math.nan]), 1)
    assert not diverged(_made([0.1, 0.9], grows=True), 1)
    assert diverged(_made([0.1, math.inf], grows=True), 1)


def _made(values: list[float], grows: bool = False) -> Curve:
    return Curve(grows, [0.1] * len(values), values)


def _stops_at(values: list[float], grows: bool, window: int = 1) -> tuple[int, str] | None:
    rule = StopRule(grows, window, max_falls=3)
    for index, value in enumerate(values):
        why = rule.add(value)
        if why is not None:
            return index, why
    return None


def test_falls_less_rises_end_a_test() -> None:
    assert _stops_at([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], grows=True) == (4, "it got worse 4 times")
    rising = [1.0, 1.1, 1.2, 1.1, 1.2, 1.3, 1.4]
    assert _stops_at(rising, grows=False) == (6, "it got worse 4 times")
    assert _stops_at([1.0, 1.1] * 50, grows=False) is None
    assert _stops_at([0.5] * 100, grows=True) is None


def test_what_is_not_finite_or_exploded_ends_a_test() -> None:
    assert _stops_at([1.0, math.nan], grows=False) == (1, "it was nan")
    assert _stops_at([1.0, math.inf], grows=True) == (1, "it was inf")
    assert _stops_at([1.0, 0.5, 2.5], grows=False) == (2, "it was 4 times its best")
    assert _stops_at([0.0, 1.0, 0.0, 1.0], grows=False) is None  # Of 0 there are no four times.
    assert _stops_at([1.0, 0.1], grows=True) is None


def test_single_spikes_are_averaged_away() -> None:
    assert _stops_at([1.0] * 10 + [3.0] + [1.0] * 10, grows=False, window=10) is None
