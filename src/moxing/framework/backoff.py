"""Growing pauses between the attempts of work that failed."""

from __future__ import annotations

import random

LONGEST = 15.0
# A separate generator, so that a program's seeded random numbers do not change.
_RANDOM = random.Random()


def pause(tries: int, first: float, longest: float = LONGEST, spread: float = 0.25) -> float:
    """Returns the seconds to wait after failed attempts.

    Args:
        tries: the number of failed attempts, 1 or more.
        first: the wait after the first failed attempt; each further one doubles the wait.
        longest: the most seconds, before the spread.
        spread: the share by which the wait is randomly longer or shorter. It keeps workers that
            failed together from retrying at the same time.
    """
    wait = min(first * 2.0 ** min(tries - 1, 30), longest)
    return wait * _RANDOM.uniform(1 - spread, 1 + spread)
