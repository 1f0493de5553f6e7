"""The log lines of a run: values, rates and waits, on the console, in the log and in records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moxing.engine.job.job import Job
from moxing.engine.loop.finite import check_losses
from moxing.engine.loop.progress import Progress
from moxing.engine.model.program import Program
from moxing.engine.reporting.console import Console
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.reporting.summaries import SummaryWriter
from moxing.engine.wording import report
from moxing.logs import TENSORFLOW

_LONG_START = 10.0  # Seconds of a first step from which on a line says how they were spent.


@dataclass(frozen=True)
class Reporters:
    """The outputs that report on a run: the live line, TensorBoard's files, and its records."""

    console: Console
    summaries: SummaryWriter
    recorder: Recorder


class StepLog:
    """Writes log lines with a step's values, and the rate since the previous log line.

    Args:
        job: the job, with the mode and the batch size.
        program: the program that is run.
        reporters: the outputs to report to.
        progress: the loop's progress; it gets the values and, as far as known, the samples.
        together: whether a step ends only when the steps of other processes do.
    """

    def __init__(
        self,
        job: Job,
        program: Program,
        reporters: Reporters,
        progress: Progress,
        together: bool = False,
    ) -> None:
        self._together = together
        self._job, self._inputs, self._progress = job, program.inputs, progress
        self._console, self._summaries = reporters.console, reporters.summaries
        self._recorder = reporters.recorder
        self._batch = 0
        self._mark = self._rate_mark = (time.perf_counter(), 0)

    def log(self, logged: Mapping[str, Any]) -> None:
        """Writes a log line for the step that was just run and is not counted yet."""
        progress = self._progress
        steps, seconds, rate = self._count(logged)
        wait = logged.get("wait")
        if wait is not None:
            share = min(1.0, wait * steps * self._job.batches / max(seconds, 1e-9))
            progress.wait = _smooth(progress.wait, share)
        progress.values = {name: float(value) for name, value in logged["values"].items()}
        check_losses(progress.global_step, logged["losses"])
        if self._job.training:
            line = report.step_line(progress.step, progress.global_step, rate, progress.values)
            self._recorder.logged(progress, steps / max(seconds, 1e-9), rate)
            self._summarize(logged.get("shown", {}), rate)
        else:
            seen = progress.samples if progress.means.samples is None else progress.means.samples
            steps_done = progress.step + 1  # An element without a first dimension is one example.
            line = report.eval_line(seen or progress.samples or steps_done, progress.values)
        TENSORFLOW.info("%s", line)
        if not progress.step and seconds >= _LONG_START:
            TENSORFLOW.info("%s", report.first_step(seconds, wait, self._together))
        if self._console.live:
            self._console.update(progress.step + 1, rate, progress.wait, progress.values)

    def _summarize(self, shown: Mapping[str, Any], rate: float | None) -> None:
        """Writes the line for TensorBoard. The first step's rate is that of planning the graph."""
        progress = self._progress
        known = {} if rate is None or not progress.step else {"sample/sec": rate}
        values = {**shown, **known, **progress.values}
        self._summaries.logged(progress.global_step, values)

    def report_rate(self) -> None:
        """Reports TensorFlow's own measure of speed, global_step/sec, in log and TensorBoard."""
        progress, now = self._progress, time.perf_counter()
        before, step_before = self._rate_mark
        self._rate_mark = (now, progress.step)
        rate = (progress.step - step_before) / max(now - before, 1e-9)
        self._summaries.scalar(progress.global_step, "global_step/sec", rate)
        TENSORFLOW.info("%s", report.global_step_per_second(rate))

    def finish(self) -> None:
        """Counts the samples after the last log line, as if batches kept that line's size."""
        if self._progress.samples:
            self._progress.samples += (self._progress.step - self._mark[1]) * self._batch

    def _count(self, logged: Mapping[str, Any]) -> tuple[int, float, float | None]:
        """Steps and seconds since the previous log line, and samples per second if known."""
        progress, now = self._progress, time.perf_counter()
        before, step_before = self._mark
        self._mark = (now, progress.step + 1)
        steps, seconds = progress.step + 1 - step_before, now - before
        batch = self._job.data.batch_size or logged.get("samples", self._inputs.samples)
        if batch is not None:
            batch = batch * len(self._inputs.counts) * self._job.batches
        self._batch = int(batch or 0)
        progress.samples += steps * self._batch
        return steps, seconds, None if batch is None else float(steps * batch / max(seconds, 1e-9))


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else 0.7 * before + 0.3 * now
