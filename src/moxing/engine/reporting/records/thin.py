"""Thins out a curve, and keeps its lowest and highest points."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field


@dataclass
class Series:
    """A value over steps, in the order it was logged.

    Attributes:
        steps: global steps.
        values: one for each step; may be NaN or infinite.
    """

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, step: int, value: float) -> None:
        self.steps.append(step)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.steps)


def thin(series: Series, most: int) -> list[tuple[int, float]]:
    """At most `most` points of a series, in order.

    The points are divided into equal runs. From each run, the lowest and highest finite value and
    the first value that is not finite stay, so that no spike is lost; so do the first and last
    point.

    Args:
        series: any number of points.
        most: at least 5.
    """
    count = len(series)
    if count <= most:
        return list(zip(series.steps, series.values, strict=True))
    runs = (most - 2) // 3
    kept = {0, count - 1}
    for run in range(runs):
        kept.update(_extremes(series.values, run * count // runs, (run + 1) * count // runs))
    return [(series.steps[index], series.values[index]) for index in sorted(kept)]


def _extremes(values: array[float], start: int, stop: int) -> set[int]:
    finite = [index for index in range(start, stop) if math.isfinite(values[index])]
    kept = set()
    if len(finite) < stop - start:
        kept.add(next(i for i in range(start, stop) if not math.isfinite(values[i])))
    if finite:
        kept.add(min(finite, key=values.__getitem__))
        kept.add(max(finite, key=values.__getitem__))
    return kept
