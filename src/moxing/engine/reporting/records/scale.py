"""Axes of a chart: the numbers to mark, and the position of a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LOG_FROM = 1e3  # From this ratio of the largest to the smallest value on, an axis is logarithmic.
_HUGE = 1e300  # Larger values are drawn at this value, so that the span of an axis is finite.
_NARROW = 1e-12  # Least span of an axis, as a part of the values on it.


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        low, high: the values at its ends.
        ticks: values to mark.
        log: whether equal distances are equal ratios.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """The position of a value, from 0 at `low` to 1 at `high`, which are its limits."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            bottom = math.log(self.low)
            return (math.log(inside) - bottom) / (math.log(self.high) - bottom)
        return (inside - self.low) / (self.high - self.low)


def linear(low: float, high: float, about: int = 5) -> Scale:
    """Returns an axis between two finite numbers, with about `about` round ticks."""
    size = max(abs(low), abs(high))
    if high - low <= size * _NARROW or size < 1 / _HUGE:
        pad = size * 0.05 if size > 1 / _HUGE else 1.0
        low, high = low - pad, high + pad
    step = _round_step((high - low) / about)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return Scale(low, high, tuple(number * step for number in range(first, last + 1)))


def fitting(values: Sequence[float]) -> Scale:
    """Returns an axis for finite values; logarithmic if they are positive and far apart."""
    low, high = (min(max(end, -_HUGE), _HUGE) for end in (min(values), max(values)))
    if low > 1 / _HUGE and high / low >= _LOG_FROM:
        bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))
        every = max(1, math.ceil((top - bottom) / 6))
        ticks = [10.0**power for power in range(bottom, top + 1, every)]
        return Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high), log=True)
    margin = (high - low) * 0.05
    return linear(low - margin, high + margin)


def label(value: float) -> str:
    """A short name of a tick: `0.25`, `20k`, `1.5M`, `1e-05`."""
    size = abs(value)
    for least, unit, name in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if least <= size < 1e12:
            return f"{value / unit:.4g}{name}"
    return f"{value:.4g}" if value else "0"


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(n * power for n in (1.0, 2.0, 5.0, 10.0) if n * power >= rough * (1 - 1e-9))
