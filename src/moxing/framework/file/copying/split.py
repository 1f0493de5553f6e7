"""A large file whose parts are copied in parallel; the last part finishes the file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from moxing.framework.file.copying.ledger import Job, Ledger
from moxing.framework.file.copying.pool import Unit


class Split:
    """A file that is copied in parts.

    Args:
      job: the file, for the ledger.
      size: the size of the file in bytes.
      parts: the functions that copy the parts, in any order and in parallel.
      finish: puts the whole file in place; called once, after all parts are done.
      abort: discards the copied parts; called once, if a part or `finish` fails.
      ledger: records the result of the file.
    """

    def __init__(
        self,
        job: Job,
        size: int,
        parts: Sequence[Callable[[], None]],
        finish: Callable[[], None],
        abort: Callable[[], None],
        ledger: Ledger,
    ) -> None:
        self._job = job
        self._size = size
        self._parts = parts
        self._finish = finish
        self._abort = abort
        self._ledger = ledger
        self._left = len(parts)
        self._failed = False
        self._lock = threading.Lock()

    @property
    def pending(self) -> bool:
        """Whether neither `finish` nor `abort` has been called."""
        return self._left > 0

    def units(self) -> list[Unit]:
        """Returns a unit for each part."""
        return [self._unit(part) for part in self._parts]

    def drop(self) -> None:
        """Abandons the file; called when no part is running."""
        if self.pending:
            self._left = 0
            self._abort()

    def _unit(self, part: Callable[[], None]) -> Unit:
        def go() -> None:
            error: Exception | None = None
            if not self._failed:
                try:
                    part()
                except (OSError, ValueError) as found:
                    error = found
            self._end(error)

        return go

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
            if error is not None and not self._failed:
                self._failed = True
                self._ledger.fail(self._job, error)
        if not last:
            return
        if self._failed:
            self._abort()
        else:
            self._close()

    def _close(self) -> None:
        try:
            self._finish()
        except (OSError, ValueError) as error:
            self._abort()
            self._ledger.fail(self._job, error)
        else:
            self._ledger.done(self._job, self._size)
