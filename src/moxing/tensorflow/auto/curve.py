"""Chooses a learning rate from the curve of a metric over growing learning rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

_GAIN = 0.95  # The chosen rate has reached this share of the metric's total gain.
_AWAY = 4.0  # The chosen rate is at least this factor below the rate that ended training.
_EXPLODED = 4.0  # A loss this many times its best value ends the test.
_SHARE = 10  # A mean covers at most one part in this many of the range.


@dataclass
class Curve:
    """A metric over learning rates.

    Attributes:
        grows: whether a higher metric is better.
        rates: the learning rates, in the order tried.
        values: the metric after the update with each rate.
        broke: the reason why the test ended before its last rate; None: it did not.
    """

    grows: bool
    rates: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    broke: str | None = None

    def add(self, rate: float, value: float) -> None:
        self.rates.append(rate)
        self.values.append(value)

    def break_off(self, why: str) -> None:
        """Records why the test ended early; keeps the first reason."""
        self.broke = self.broke or why


class StopRule:
    """Decides when a range test ends because higher learning rates make no sense.

    Args:
        grows: whether a higher metric is better.
        window: the number of values that are averaged before they are compared.
        max_falls: how often the average may get worse, minus the times it got better.
    """

    def __init__(self, grows: bool, window: int, max_falls: int) -> None:
        self._sign = 1.0 if grows else -1.0
        self._window, self._most = window, max_falls
        self._recent: list[float] = []
        self._before: float | None = None
        self._best: float | None = None
        self._falls = 0

    def add(self, value: float) -> str | None:
        """Adds the next value; returns the reason to end the test, or None."""
        if not math.isfinite(value):
            return f"it was {value}"
        self._recent = [*self._recent, value][-self._window :]
        mean = self._sign * sum(self._recent) / len(self._recent)
        before, self._before = self._before, mean
        self._best = mean if self._best is None else max(self._best, mean)
        if before is not None:
            self._falls = max(0, self._falls + (1 if mean < before else -1))
        if self._falls > self._most:
            return f"it got worse {self._falls} times"
        if self._sign < 0 and -mean > _EXPLODED * -self._best > 0:
            return f"it was {_EXPLODED:g} times its best"
        return None


def window_of(window: int, steps: int) -> int:
    """Returns the number of values to average: `window`, but at most a tenth of all values."""
    return max(1, min(window, steps // _SHARE))


def smooth(values: Sequence[float], window: int) -> list[float]:
    """Returns the mean of `window` values around each value, or of fewer at the ends."""
    left, right = (window - 1) // 2, window // 2 + 1
    parts = [values[max(0, i - left) : i + right] for i in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def best_value(curve: Curve, window: int) -> float:
    """Returns the best smoothed metric; the worst possible value if it was never finite."""
    finite = [value for value in curve.values if math.isfinite(value)]
    if not finite:
        return -math.inf if curve.grows else math.inf
    return (max if curve.grows else min)(smooth(finite, window))


def diverged(curve: Curve, window: int) -> bool:
    """Whether training diverged: it has no finite end, or the loss ended far above its start.

    An accuracy does not show divergence: weights that grow without limit may still order logits
    correctly.
    """
    start, end = curve.values[:window], curve.values[-window:]
    if not all(map(math.isfinite, end)):
        return True
    first, last = sum(start) / max(1, len(start)), sum(end) / max(1, len(end))
    return not curve.grows and last > _EXPLODED * first > 0


def choose_rate(curve: Curve, window: int) -> float | None:
    """Returns the learning rate that a curve suggests; None: the metric never improved.

    The result is the first rate at which the averaged metric has covered 95 % of the distance from
    its first value to its best, but at most a quarter of the rate that ended the test early.
    (Smith, "Cyclical Learning Rates for Training Neural Networks", 2017, describes the test; he
    reads two bounds off the same curve by eye.)
    """
    pairs = [p for p in zip(curve.rates, curve.values, strict=True) if math.isfinite(p[1])]
    if len(pairs) < 2:
        return None
    sign = 1.0 if curve.grows else -1.0
    means = [sign * value for value in smooth([value for _, value in pairs], window)]
    gain = max(means) - means[0]
    if gain <= 0:
        return None
    reached = next(i for i, mean in enumerate(means) if mean >= means[0] + _GAIN * gain)
    rate = pairs[reached][0]
    if curve.broke is not None:
        rate = max(curve.rates[0], min(rate, curve.rates[-1] / _AWAY))
    return rate
