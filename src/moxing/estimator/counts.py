"""Reads numbers of something as programs write them: 10000, 1e4, or a scalar of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def whole(value: Any) -> int | None:
    """The number, if it is a whole one; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return int(value) if float(value) % 1 == 0 else None
