"""Reads from flags and the environment which checkpoints a run keeps, and when it writes them."""

from __future__ import annotations

import math
import os
from typing import Final

from moxing import flags
from moxing.engine.job import ranking
from moxing.engine.job.ranking import Ranking
from moxing.errors import MoxValueError

# The environment variable that `mox run --keep-best` sets.
KEEP_BEST: Final = "MOX_KEEP_BEST"


def hours() -> float | None:
    """Returns the hours after which another checkpoint is kept for good; None: no checkpoint is.

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


def best(argument: object = None, name: str = "keep_best") -> Ranking | None:
    """Returns the metric whose best checkpoints are kept; None: there is none.

    Args:
        argument: the program's own setting, which MOX_KEEP_BEST overrides.
        name: the name of that setting, for messages.

    Raises:
        MoxValueError: a setting does not have the form that `ranking.parsed` reads.
    """
    text = os.environ.get(KEEP_BEST, "").strip()
    if text:
        return ranking.parsed(text, f"{KEEP_BEST} (mox run --keep-best)")
    return None if argument is None else ranking.parsed(argument, name)
