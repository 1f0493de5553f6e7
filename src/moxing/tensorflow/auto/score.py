"""How good a trial was, and which of several is the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SHARE = 3  # A training is judged by no more than the last one of so many parts.


@dataclass(frozen=True)
class Score:
    """The outcome of a trial.

    Attributes:
        value: the metric, such that more is better; infinitely bad where training diverged.
        error: standard error of the value, as far as it is known.
        loss: the loss; NaN where it is not known.
    """

    value: float
    error: float = 0.0
    loss: float = math.nan


DIVERGED = Score(-math.inf)


def judge(values: Sequence[float], losses: Sequence[float], sign: float, window: int) -> Score:
    """The score of a training by its last steps.

    Args:
        values: of the metric, one a step, all finite at the end.
        losses: of the loss; none where it is not known.
        sign: 1 where more of the metric is better, else -1.
        window: most steps to average.
    """
    count = max(1, min(window, len(values) // _SHARE))
    end = values[-count:]
    mean = sum(end) / count
    spread = sum((value - mean) ** 2 for value in end) / max(1, count - 1)
    last = losses[-count:]
    loss = sum(last) / len(last) if last else math.nan
    return Score(sign * mean, math.sqrt(spread / count), loss)


def best(scores: Sequence[Score]) -> int:
    """The index of the best score.

    Batches differ by chance. Of scores that are no more than a standard error apart, the one with
    the lowest loss is the best, and of equals the first.
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
