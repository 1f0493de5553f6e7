"""At which steps of a run something is due beside the step itself."""

from __future__ import annotations

from moxing.engine.job.job import Job
from moxing.engine.loop import fetches
from moxing.engine.loop.fetches import Due
from moxing.engine.reporting.summaries import SummaryWriter


class Schedule:
    """Counts from the first step of a run.

    Args:
        job: says how often.
        first: the global step at which the run starts.
        summaries: knows when summaries are due.
        always: names of what every step fetches.
        workers: among how many processes the steps are shared.
    """

    def __init__(
        self, job: Job, first: int, summaries: SummaryWriter, always: Due, workers: int
    ) -> None:
        self._job, self._first, self._summaries, self._always = job, first, summaries, always
        self._reports_rate = job.training and job.log_dir is not None
        self.end = -(-(job.max_steps - first) // workers) if job.training else job.max_steps

    def due(self, step: int) -> Due:
        """The names of what this step fetches beside the train op."""
        due, every = self._always, self._job.logging.every
        if every and step % every == 0:
            due = (*due, fetches.LOG)
        if self._summaries.due(self._first + step):
            due = (*due, fetches.SUMMARY)
        return due

    def reports_rate(self, step: int) -> bool:
        """Whether the speed is logged after so many steps."""
        return self._reports_rate and step % self._job.summaries.every == 0

    def next_due(self, step: int, save_steps: int | None, pause_at: int | None) -> int:
        """The first step after this one that needs more than the step itself.

        Args:
            step: of the run.
            save_steps: global steps between saves; None: they are not counted.
            pause_at: the global step of the next pause; None: there is none.
        """
        first, every = self._first, self._job.logging.every
        due = [self.end]
        if every:
            due.append(_next_multiple(step, every))
        if self._summaries.op is not None:
            due.append(_next_multiple(first + step, self._job.summaries.every) - first)
        if self._reports_rate:
            due.append(_next_multiple(step, self._job.summaries.every))
        if save_steps is not None:
            due.append(_next_multiple(first + step, save_steps) - first)
        if pause_at is not None:
            due.append(pause_at - first)
        return min(due)


def _next_multiple(number: int, factor: int) -> int:
    return (number // factor + 1) * factor
