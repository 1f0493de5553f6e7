"""What a metric says of learning rates, when these grow from step to step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

_GAIN = 0.95  # A rate is chosen by which so much of all that was won had been won.
_AWAY = 4.0  # It stays this factor below the rate at which training broke off.
_EXPLODED = 4.0  # Training broke off where the loss is so many times its best.
_SHARE = 10  # A mean is over no more than one part in so many of the range.


@dataclass
class Curve:
    """A metric over learning rates.

    Attributes:
        grows: whether more is better.
        rates: learning rates, in the order tried.
        values: the metric after the update with each.
        broke: why the test ended before its last rate; None: it did not.
    """

    grows: bool
    rates: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    broke: str | None = None

    def add(self, rate: float, value: float) -> None:
        self.rates.append(rate)
        self.values.append(value)

    def break_off(self, why: str) -> None:
        """Notes why there are no more values; the first reason counts."""
        self.broke = self.broke or why


class StopRule:
    """Says when higher learning rates make no sense any more.

    Args:
        grows: whether more of the metric is better.
        window: values that are averaged before they are compared.
        max_falls: how often the average may get worse, less the times it got better.
    """

    def __init__(self, grows: bool, window: int, max_falls: int) -> None:
        self._sign = 1.0 if grows else -1.0
        self._window, self._most = window, max_falls
        self._recent: list[float] = []
        self._before: float | None = None
        self._best: float | None = None
        self._falls = 0

    def add(self, value: float) -> str | None:
        """Takes the next value; returns why the test ends, or None."""
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
    """How many values to average: `window`, but no more than a tenth of them."""
    return max(1, min(window, steps // _SHARE))


def smooth(values: Sequence[float], window: int) -> list[float]:
    """The mean over `window` values around each; over fewer at the ends."""
    left, right = (window - 1) // 2, window // 2 + 1
    parts = [values[max(0, i - left) : i + right] for i in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def best_value(curve: Curve, window: int) -> float:
    """The best mean of the metric; the worst there can be where it was never finite."""
    finite = [value for value in curve.values if math.isfinite(value)]
    if not finite:
        return -math.inf if curve.grows else math.inf
    return (max if curve.grows else min)(smooth(finite, window))


def diverged(curve: Curve, window: int) -> bool:
    """Whether training came to nothing: no finite end, or a loss that ended far above its start.

    An accuracy does not tell: weights that grow without end may still order logits right.
    """
    start, end = curve.values[:window], curve.values[-window:]
    if not all(map(math.isfinite, end)):
        return True
    first, last = sum(start) / max(1, len(start)), sum(end) / max(1, len(end))
    return not curve.grows and last > _EXPLODED * first > 0


def choose_rate(curve: Curve, window: int) -> float | None:
    """The learning rate that a curve speaks for; None: the metric got no better at any.

    It is the first rate at which the averaged metric had made 95 % of the whole way from its first
    value to its best, but at most a quarter of the rate at which training broke off. (Smith,
    "Cyclical Learning Rates for Training Neural Networks", 2017, describes the test; he reads two
    bounds off the same curve by eye.)
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
