"""Keeps the records of one run: its metrics while it works, and its report at the end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moxing.engine.graph import run_context
from moxing.engine.job.job import EVAL, PREDICT, Job, Result
from moxing.engine.remote import path_alias
from moxing.engine.reporting.records import checkpoints, history, line, page, run_facts, run_file
from moxing.engine.reporting.records.journal import Journal
from moxing.engine.reporting.records.line import Line
from moxing.engine.reporting.summaries import SummaryWriter
from moxing.engine.reporting.trackers import opening
from moxing.engine.reporting.trackers.tracker import Sender
from moxing.engine.wording.record_files import REPORT, RUN
from moxing.framework.atomic import replace
from moxing.logs import TENSORFLOW

_SIGNALED = 128  # A shell adds this to the number of the signal that ended a process.
_LONGEST_ERROR = 600


class Recorder:
    """The records of one run. An error in them does not end the run.

    Args:
        job: the run's job; without log_dir, and in PREDICT, nothing is recorded.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._log_dir = job.log_dir if job.mode != PREDICT else None
        self._journal = Journal(self._log_dir)
        self._trackers = Sender([])
        self._summaries: SummaryWriter | None = None
        self._started = time.time()
        self._outcome: dict[str, Any] = {}
        self._touched = False
        # The progress of the loop: see `Loop.progress`.
        self.progress: Any = None

    def open_trackers(self) -> None:
        """Starts the runs of trackers.

        Raises:
            MoxRuntimeError: a tracker can't start a run.
        """
        job = self._job
        if job.training and job.logging.loggers:
            facts = run_facts.configuration(job)
            named = None if job.log_dir is None else path_alias.named(job.log_dir)
            self._trackers = opening.opened(job.logging.loggers, named, facts)

    def announce(self, summaries: SummaryWriter) -> None:
        """Lets hooks of the current graph find this recorder; the graph must not be final yet."""
        self._summaries = summaries
        run_context.current().recorder = self

    def start(self, step: int) -> None:
        """Opens the metrics; `step` is the global step that a training starts from."""
        self._touched = True
        self._journal.start(step if self._job.training else None)
        if self._summaries is not None:
            self._summaries.text(step, "job", _markdown(run_facts.configuration(self._job)))

    def logged(
        self, progress: Any, steps_per_second: float, samples_per_second: float | None
    ) -> None:
        """Records the values and rates of the last log line of training.

        The first step of a run has no rates: it takes long, because TensorFlow plans the graph in
            it.
        """
        rates = {
            "steps_per_second": steps_per_second,
            "samples_per_second": samples_per_second,
            "data_wait": progress.wait,
        }
        known = {name: r for name, r in rates.items() if r is not None and progress.step}
        self._trackers.log(progress.global_step, {**progress.values, **known})
        if self._journal.open:
            self._journal.write(Line(line.TRAIN, progress.global_step, progress.values, known))

    def evaluated(
        self,
        name: str,
        values: Mapping[str, float],
        samples: int | None,
        seconds: float,
        after: int | None = None,
    ) -> None:
        """Records an evaluation; a hook's is of the global step `after`, or the loop's step."""
        inside = self._job.mode != EVAL
        step = after
        if step is None:
            step = self.progress.global_step + 1 if inside else self.progress.first
        known = (
            {"seconds": seconds} if samples is None else {"samples": samples, "seconds": seconds}
        )
        self._journal.write(Line(line.INTER if inside else line.EVAL, step, values, known, name))
        tagged = {f"{_tag(name)}/{key}": value for key, value in values.items()} if inside else {}
        self._trackers.log(step, tagged)
        if self._summaries is not None:
            for tag, value in tagged.items():
                self._summaries.scalar(step, tag, value)

    def finish(self, result: Result, progress: Any) -> None:
        """Records the result of a run that ended well; in EVAL, also its metrics."""
        self._outcome = {"end": run_file.FINISHED, "seconds": result.seconds}
        if result.export_dir is not None:
            self._outcome["export_dir"] = path_alias.named(result.export_dir)
        if self._job.mode == EVAL:
            self.evaluated("", result.metrics, progress.means.samples, result.seconds)

    def close(self, error: BaseException | None) -> None:
        """Writes the report."""
        self._journal.close()
        self._trackers.close(failed=error is not None)
        if self._log_dir is None or not self._touched or not os.path.isdir(self._log_dir):
            return
        try:
            self._report(self._log_dir, error)
        except Exception as fault:
            # An error in the report must not end a run.
            TENSORFLOW.warning("No report of this run was written: %s", fault)

    def _report(self, log_dir: str, error: BaseException | None) -> None:
        told = None if self._job.training else run_facts.read(os.path.join(log_dir, RUN))
        if told is None:
            told = {
                "format": run_file.FORMAT,
                "job": run_facts.describe(self._job),
                "flags": run_facts.settings(self._job),
                "environment": run_facts.environment(),
                "outcome": self._ended(error),
            }
            if self._job.logging.program:
                told["program"] = dict(self._job.logging.program)
            if self._job.training:
                replace(os.path.join(log_dir, RUN), [run_facts.encode(told)])
        shown = page.render(told, history.read(log_dir), checkpoints.kept(log_dir))
        replace(os.path.join(log_dir, REPORT), [shown.encode()])

    def _ended(self, error: BaseException | None) -> dict[str, Any]:
        outcome = {"started": self._started, "ended": time.time(), **self._outcome}
        progress = self.progress
        if progress is not None:
            outcome["first_step"] = progress.first
            outcome["last_step"] = progress.global_step if self._job.training else progress.first
            outcome.setdefault("seconds", progress.seconds or time.time() - self._started)
        if error is not None:
            outcome.update(_failure(error))
        return outcome


@contextmanager
def recording(job: Job) -> Iterator[Recorder]:
    """Yields the recorder of the run in the block; writes the report however the block ends."""
    recorder = Recorder(job)
    recorder.open_trackers()
    try:
        yield recorder
    except BaseException as error:
        recorder.close(error)
        raise
    recorder.close(None)


def of_graph() -> Recorder | None:
    """Returns the recorder of the current graph's run; None if it has none."""
    found = run_context.current().recorder
    return found if isinstance(found, Recorder) else None


def _failure(error: BaseException) -> dict[str, str]:
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > _SIGNALED:
        return {"end": f"stopped by {signal.Signals(error.code - _SIGNALED).name}"}
    text = f"{type(error).__name__}: {_message(error)}"
    return {"end": "failed", "error": run_facts.harmless(text)[:_LONGEST_ERROR]}


def _message(error: BaseException) -> str:
    """The message of an error; a TensorFlow error's without the traceback and the graph in it."""
    lines = str(error).splitlines()
    ends = [number for number, text in enumerate(lines) if text.startswith("Traceback")]
    return " ".join(lines[: ends[0]] if ends and ends[0] else lines)


def _tag(name: str) -> str:
    """`validation_metrics` of `[VALIDATION METRICS]`."""
    return (
        "_".join("".join(c if c.isalnum() else " " for c in name.lower()).split()) or "evaluation"
    )


def _markdown(values: Mapping[str, Any]) -> str:
    """A table for TensorBoard's text tab."""
    rows = [
        f"| {name} | {str(value).replace('|', '&#124;')} |"
        for name, value in values.items()
        if value not in (None, "")
    ]
    return "\n".join(["| name | value |", "|---|---|", *rows])
