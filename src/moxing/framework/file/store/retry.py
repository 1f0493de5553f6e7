"""Retries a request after transient errors, with growing waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from moxing.framework import backoff
from moxing.framework.file.errors import MoxFileError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


def persist(
    work: Callable[[], T],
    explain: Callable[[Exception], MoxFileError],
    tries: int,
    first_wait: float,
    gives_up: Callable[[float], bool] = lambda seconds: False,
) -> T:
    """Returns the result of `work`, which is attempted up to `tries` times.

    Args:
      work: makes one attempt.
      explain: converts an error of `work` to a MoxFileError, whose `transient` decides about a
        retry. It raises an error that is not the store's.
      tries: the total number of attempts.
      first_wait: seconds before the second attempt.
      gives_up: whether not to attempt again, that many seconds after the first attempt began.

    Raises:
      MoxFileError: the error of the last attempt, if no attempts are left or a retry can't help.
    """
    began = time.monotonic()
    for tried in range(1, tries + 1):
        try:
            return work()
        except Exception as found:
            error = explain(found)
            if not error.transient:
                raise error from None
            if tried == tries:
                raise _spent(error, tries) from None
        wait = backoff.pause(tried, first_wait)
        if gives_up(time.monotonic() + wait - began):
            raise _spent(error, tried) from None
        # A first failure is normal for a busy store; log a warning only from the second one on.
        level = logging.DEBUG if tried == 1 else logging.WARNING
        _LOG.log(level, "%s; trying again in %.1f s (%d of %d)", error, wait, tried + 1, tries)
        time.sleep(wait)
    raise AssertionError("tries must be at least 1")


def _spent(error: MoxFileError, tries: int) -> MoxFileError:
    if tries > 1:
        error.args = (f"{error.args[0]} (tried {tries} times)",)
    return error
