"""When a run saves between its first and its last step."""

from __future__ import annotations

import time
from collections.abc import Callable

from moxing.engine.job.job import Saving
from moxing.engine.loop.progress import Progress
from moxing.engine.parallel.self_exchange import SavePoints


class Saves:
    """Saves where it is due, and where no process keeps what a checkpoint would lose.

    Args:
        saving: the schedule.
        save: saves a global step; None: the run has no files.
        points: behind which steps nothing is kept.
        progress: of the loop.
    """

    def __init__(
        self,
        saving: Saving,
        save: Callable[[int], None] | None,
        points: SavePoints,
        progress: Progress,
    ) -> None:
        self._save, self._points, self._progress = save, points, progress
        self._seconds = saving.every_secs if save is not None else None
        self._steps = saving.every_steps if save is not None and self._seconds is None else None
        self._put_off = False
        self._saved_at = time.monotonic()

    @property
    def every_steps(self) -> int | None:
        """Steps between saves; None: they are not counted."""
        return self._steps

    def time_has_come(self) -> bool:
        """Whether a save is due by the clock."""
        return self._seconds is not None and time.monotonic() - self._saved_at >= self._seconds

    def run(self, last: bool) -> None:
        """Saves, if that is due after the step that the loop has reached.

        Args:
            last: whether no step follows: the run saves, when all have agreed.
        """
        if self._save is None or not self._due(last):
            return
        self._save(self._progress.global_step)
        self._saved_at = time.monotonic()

    def _due(self, last: bool) -> bool:
        if self._steps is not None:
            wanted = self._progress.global_step % self._steps == 0
        else:
            wanted = self.time_has_come()
        self._put_off = wanted or self._put_off
        if self._points.settles and last:
            return False
        if self._put_off and self._points.after(self._progress.step):
            self._put_off = False
            return True
        return False
