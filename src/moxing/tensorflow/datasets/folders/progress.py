"""Logs the progress of a long preparation at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable

from moxing.engine.wording import report
from moxing.logs import TENSORFLOW

_EVERY = 5.0  # Seconds between lines; shorter work logs nothing.


class Progress:
    """Logs lines such as `Finding the records of 1024 files: 37%, 473,000 records, 12 s to go.`

    Args:
        what: a description of the work.
        total: the number of its parts.
        clock: returns the time in seconds.
    """

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._total, self._clock = what, total, clock
        self._started = self._said = clock()

    def update(self, done: int, found: str = "") -> None:
        """Logs that `done` parts are done, if a line is due; `found` is added to the line."""
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
