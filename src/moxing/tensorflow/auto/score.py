"""Scores trials, and selects the best one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SHARE = 3  # A training is judged by at most the last one of this many parts.


@dataclass(frozen=True)
class Score:
    """The outcome of a trial.

    Attributes:
        value: the metric, with a sign such that higher is better; -inf if training diverged.
        error: the standard error of the value, as far as it is known.
        loss: the loss; NaN if it is unknown.
    """

    value: float
    error: float = 0.0
    loss: float = math.nan


DIVERGED = Score(-math.inf)


def judge(values: Sequence[float], losses: Sequence[float], sign: float, window: int) -> Score:
    """Returns the score of a training by its last steps.

    Args:
        values: the values of the metric, one per step, finite at the end.
        losses: the values of the loss; empty if it is unknown.
        sign: 1 if a higher metric is better, else -1.
        window: the maximum number of steps to average.
    """
    count = max(1, min(window, len(values) // _SHARE))
    end = values[-count:]
    mean = sum(end) / count
    spread = sum((value - mean) ** 2 for value in end) / max(1, count - 1)
    last = losses[-count:]
    loss = sum(last) / len(last) if last else math.nan
    return Score(sign * mean, math.sqrt(spread / count), loss)


def best(scores: Sequence[Score]) -> int:
    """Returns the index of the best score.

    Because batches differ by chance, among scores within a standard error of the highest, the one
    with the lowest loss is the best; among equal losses, the first.
    """
    top = max(range(len(scores)), key=lambda index: scores[index].value)
    if not math.isfinite(scores[top].loss):
        return top
    near = [
        index
        for index, score in enumerate(scores)
        if math.isfinite(score.value)
        and math.isfinite(score.loss)
        and score.value >= scores[top].value - max(score.error, scores[top].error)
    ]
    return min(near, key=lambda index: scores[index].loss, default=top)
