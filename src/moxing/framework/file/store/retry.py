"""Tries a request again, waiting longer each time, while the error may pass."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from moxing.framework.file.errors import MoxFileError

T = TypeVar("T")
LONGEST_WAIT = 15.0
_LOG = logging.getLogger(__name__)
# Our own, so that a program's seeded random numbers stay what they are.
_RANDOM = random.Random()


def pause(tries: int, first: float) -> float:
    """Seconds to wait after `tries` failed tries: `first * 2**(tries-1)`, at most 15, +-25%.

    The spread keeps many workers that failed together from coming back together.
    """
    return min(first * 2.0 ** min(tries - 1, 30), LONGEST_WAIT) * _RANDOM.uniform(0.75, 1.25)


def persist(
    work: Callable[[], T],
    explain: Callable[[Exception], MoxFileError],
    tries: int,
    first_wait: float,
) -> T:
    """The result of `work`, which is tried up to `tries` times.

    Args:
      work: one try.
      explain: turns what `work` raised into one of our errors, whose `transient` decides. It
        raises where the error is none of the store's.
      tries: how often to try in all.
      first_wait: seconds before the second try.

    Raises:
      MoxFileError: the last try's error, when tries are used up or another one can't help.
    """
    for tried in range(1, tries + 1):
        try:
            return work()
        except Exception as found:
            error = explain(found)
            if not error.transient:
                raise error from None
            if tried == tries:
                raise _spent(error, tries) from None
        wait = pause(tried, first_wait)
        # The first failure is everyday business of a busy store; a second one is news.
        level = logging.DEBUG if tried == 1 else logging.WARNING
        _LOG.log(level, "%s; trying again in %.1f s (%d of %d)", error, wait, tried + 1, tries)
        time.sleep(wait)
    raise AssertionError("tries must be at least 1")


def _spent(error: MoxFileError, tries: int) -> MoxFileError:
    if tries > 1:
        error.args = (f"{error.args[0]} (tried {tries} times)",)
    return error
