"""Numbers of steps, as programs write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import moxing.estimator as tfe
from moxing.errors import MoxValueError
from moxing.estimator.counts import rounded_up, whole


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        (1e4, 10000),
        (np.int32(3), 3),
        (np.float32(8), 8),
        (-2, -2),
        (2.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        ("7", None),
        (None, None),
    ],
)
def test_whole_numbers(value: Any, expected: int | None) -> None:
    assert whole(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        (260.488, 261),
        (np.float32(0.5), 1),
        (np.int64(3), 3),
        (-2.5, -2),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        ("7", None),
        (None, None),
    ],
)
def test_parts_of_a_step_are_one_more(value: Any, expected: int | None) -> None:
    assert rounded_up(value) == expected


def test_where_steps_are_given() -> None:
    def nothing() -> None:
        raise NotImplementedError

    assert tfe.TrainSpec(nothing, max_steps=260.488).max_steps == 261  # type: ignore[arg-type]
    assert tfe.EvalSpec(nothing, steps=2.5).steps == 3  # type: ignore[arg-type]
    parts: Any = {"save_checkpoints_steps": 0.5, "save_summary_steps": 1.5}
    config = tfe.RunConfig(**parts)
    assert (config.save_checkpoints_steps, config.save_summary_steps) == (1, 2)
    with pytest.raises(MoxValueError, match="max_steps=-0.5; it must be a number above 0"):
        tfe.TrainSpec(nothing, max_steps=-0.5)  # type: ignore[arg-type]
