"""Reads from flags how a run changes gradients before its optimizers' updates."""

from __future__ import annotations

import math
from typing import Final

from moxing import flags
from moxing.engine.job.updating import Updating
from moxing.errors import MoxValueError

# The values of MoXing's --gradient_clip_type, each with the equivalent flag.
_OF_TYPE: Final = {"norm": "gradient_clip_norm", "value": "gradient_clip_value"}


def updating() -> Updating:
    """Returns the limits and settings that the flags ask for.

    Raises:
        MoxValueError: a limit is not above 0, or two flags contradict each other.
    """
    limits = {name: _limit(name) for name in _OF_TYPE.values()}
    if (limit := _limit("gradient_clip")) is not None:
        name = _OF_TYPE[flags.get_flag("gradient_clip_type")]
        if limits[name] not in (None, limit):
            raise MoxValueError(
                f"--gradient_clip={limit:g} and --{name}={limits[name]:g} are both given, and"
                " --gradient_clip_type makes them the same limit; give one of them."
            )
        limits[name] = limit
    return Updating(
        limits["gradient_clip_norm"],
        limits["gradient_clip_value"],
        accumulate=flags.get_flag("accumulate_steps"),
        average_decay=_decay(),
        recompute=flags.get_flag("recompute"),
    )


def _decay() -> float | None:
    value = flags.get_flag("ema_decay")
    if value is not None and not 0 <= value < 1:
        raise MoxValueError(
            f"--ema_decay={value:g}: it must be from 0 to below 1, such as 0.999; leave it out to"
            " keep no averages."
        )
    return value


def _limit(name: str) -> float | None:
    value = flags.get_flag(name)
    if value is None:
        return None
    limit = float(value)
    if not (limit > 0 and math.isfinite(limit)):
        raise MoxValueError(
            f"--{name}={value:g}: it must be a finite number above 0; leave it out for no limit."
        )
    return limit
