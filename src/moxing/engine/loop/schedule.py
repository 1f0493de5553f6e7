"""Decides at which steps log values, summaries and rates are due."""

from __future__ import annotations

from moxing.engine.job.job import Job
from moxing.engine.loop import fetches
from moxing.engine.loop.fetches import Due
from moxing.engine.reporting.summaries import SummaryWriter


class Schedule:
    """The schedule of a run; it counts steps from the run's first step.

    Args:
        job: the job, which says how often values are due.
        first: the global step at which the run starts.
        summaries: tells when summaries are due.
        always: names of values that every step fetches.
        workers: number of processes among which the steps are divided.
    """

    def __init__(
        self, job: Job, first: int, summaries: SummaryWriter, always: Due, workers: int
    ) -> None:
        self._job, self._first, self._summaries, self._always = job, first, summaries, always
        self._reports_rate = job.training and job.log_dir is not None
        self.end = -(-(job.max_steps - first) // workers) if job.training else job.max_steps

    def due(self, step: int) -> Due:
        """The names of the values that this step fetches besides the train op."""
        due, every = self._always, self._job.logging.every
        if every and step % every == 0:
            due = (*due, fetches.LOG)
        if self._summaries.due(self._first + step):
            due = (*due, fetches.SUMMARY)
        return due

    def reports_rate(self, step: int) -> bool:
        """Whether the speed is logged after this number of steps."""
        return self._reports_rate and step % self._job.summaries.every == 0

    def next_due(self, step: int, save_steps: int | None, pause_at: int | None) -> int:
        """The number of finished steps, above `step`, at which the loop next has other work to do.

        Args:
            step: the number of finished steps of this run.
            save_steps: global steps between saves; None: saves do not depend on steps.
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
