"""Reads from flags which checkpoints a run keeps, and when it writes them."""

from __future__ import annotations

import math

from moxing import flags
from moxing.errors import MoxValueError


def hours() -> float | None:
    """Returns the hours after which another checkpoint is kept for good; None: none is.

    Raises:
        MoxValueError: the number is not above 0.
    """
    value = flags.get_flag("keep_checkpoint_every_n_hours")
    if value is None:
        return None
    if not (value > 0 and math.isfinite(value)):
        raise MoxValueError(
            f"--keep_checkpoint_every_n_hours={value:g}: it must be a number of hours above 0;"
            " leave it out to keep only the newest checkpoints."
        )
    return float(value)


def in_step() -> bool:
    """Returns whether checkpoints are written before the next step, and not beside it."""
    return bool(flags.get_flag("sync_save"))
