"""Numbers of steps, as programs write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moxing.estimator.counts import whole


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
