"""Says, now and then, how far a long preparation has come."""

from __future__ import annotations

import time
from collections.abc import Callable

from moxing.engine.wording import report
from moxing.logs import TENSORFLOW

_EVERY = 5.0  # Seconds; what is done before says nothing.


class Progress:
    """Log lines such as `Finding the records of 1024 files: 37%, 473,000 records, 12 s to go.`

    Args:
        what: what is done.
        total: how many parts it has.
        clock: seconds.
    """

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._total, self._clock = what, total, clock
        self._started = self._said = clock()

    def update(self, done: int, found: str = "") -> None:
        """Says that `done` parts are done, if it is time; `found` goes into the line."""
        now = self._clock()
        if now - self._said < _EVERY or not done:
            return
        self._said = now
        left = (now - self._started) * (self._total - done) / done
        TENSORFLOW.info(
            "%s: %d%%%s, %s to go.",
            self._what,
            100 * done // self._total,
            f", {found}" if found else "",
            report.duration(left),
        )
