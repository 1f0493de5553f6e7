"""Reads counts as programs write them: 10000, 1e4, or a NumPy scalar."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def whole(value: Any) -> int | None:
    """Returns the value as an int if it is a whole number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return int(value) if float(value) % 1 == 0 else None


def rounded_up(value: Any) -> int | None:
    """Returns a number of steps as an int, None if the value is no finite number.

    Programs compute numbers of steps (`samples / batch_size * epochs`). TensorFlow compares the
    steps made with such a number, so the step after its whole part is the last.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return math.ceil(value) if math.isfinite(value) else None
