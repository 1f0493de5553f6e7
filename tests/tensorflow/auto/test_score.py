"""The best trial is the best one, and chance does not decide."""

from __future__ import annotations

import math

import pytest

from moxing.tensorflow.auto.score import DIVERGED, Score, best, judge


def test_a_training_is_judged_by_its_end() -> None:
    score = judge([0.0] * 20 + [0.6, 0.8] * 5, [9.0] * 20 + [1.0, 3.0] * 5, 1.0, window=50)
    assert score.value == pytest.approx(0.7)
    assert score.error == pytest.approx(0.1 / 3)  # Standard deviation over the root of ten.
    assert score.loss == pytest.approx(2.0)
    short = judge([1.0, 2.0, 3.0, 5.0], [], -1.0, window=1)
    assert (short.value, short.error) == (-5.0, 0.0)
    assert math.isnan(short.loss)


def test_clear_differences_decide() -> None:
    scores = [Score(0.80, 0.01, 0.1), Score(0.90, 0.01, 0.9), Score(0.85, 0.01, 0.1), DIVERGED]
    assert best(scores) == 1


def test_where_chance_might_have_decided_the_loss_does() -> None:
    assert best([Score(0.90, 0.02, 0.9), Score(0.89, 0.01, 0.3), Score(0.80, 0.01, 0.1)]) == 1
    assert best([Score(0.90, 0.02), Score(0.89, 0.01)]) == 0
    assert best([Score(0.9, 0.0, 0.3), Score(0.9, 0.0, 0.3)]) == 0
    assert best([DIVERGED, Score(-5.0, 0.0, 5.0)]) == 1
