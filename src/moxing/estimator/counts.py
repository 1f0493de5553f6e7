"""Reads counts as programs write them: 10000, 1e4, or a NumPy scalar."""

from __future__ import annotations

from typing import Any

import numpy as np


def whole(value: Any) -> int | None:
    """Returns the value as an int if it is a whole number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return int(value) if float(value) % 1 == 0 else None
