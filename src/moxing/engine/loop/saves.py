"""Decides when a run saves between its first and its last step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from moxing.engine.job.job import Saving
from moxing.engine.loop.progress import Progress
from moxing.engine.parallel.self_exchange import SavePoints


@dataclass(frozen=True)
class Writer:
    """Writes the saves of a run.

    Attributes:
        save: saves a global step; it may leave the writing to a thread.
        check: raises the error of a write in a thread, if it failed.
    """

    save: Callable[[int], None]
    check: Callable[[], None]


class Saves:
    """Saves when a save is due, at steps after which no process holds state outside checkpoints.

    Args:
        saving: the schedule.
        writer: writes the saves; None: the run has no files.
        points: tells after which steps no process holds such state.
        progress: the loop's progress.
    """

    def __init__(
        self,
        saving: Saving,
        writer: Writer | None,
        points: SavePoints,
        progress: Progress,
    ) -> None:
        self._writer, self._points, self._progress = writer, points, progress
        self._seconds = saving.every_secs if writer is not None else None
        self._steps = saving.every_steps if writer is not None and self._seconds is None else None
        self._put_off = False
        self._saved_at = time.monotonic()

    @property
    def every_steps(self) -> int | None:
        """Steps between saves; None: saves do not depend on steps."""
        return self._steps

    @property
    def nothing_outside(self) -> bool:
        """Whether no process holds state outside checkpoints after the last step."""
        return self._points.after(self._progress.step)

    def time_has_come(self) -> bool:
        """Whether a save is due by the clock."""
        return self._seconds is not None and time.monotonic() - self._saved_at >= self._seconds

    def run(self, last: bool) -> None:
        """Saves, if a save is due after the step that the loop has reached.

        Args:
            last: whether no step follows. If the optimizers' state still has to be settled between
                processes, the run saves after that, and not here.
        """
        if self._writer is None:
            return
        self._writer.check()
        if not self._due(last):
            return
        self._writer.save(self._progress.global_step)
        self._saved_at = time.monotonic()

    def _due(self, last: bool) -> bool:
        if self._steps is not None:
            wanted = self._progress.global_step % self._steps == 0
        else:
            wanted = self.time_has_come()
        self._put_off = wanted or self._put_off
        if self._points.settles and last:
            return False
        if self._put_off and self.nothing_outside:
            self._put_off = False
            return True
        return False
