"""The summary line and the result of a run."""

from __future__ import annotations

import signal

from moxing.engine.job.job import EVAL, Job, Result
from moxing.engine.loop.finite import warn_of_metrics
from moxing.engine.loop.progress import Progress
from moxing.engine.run.runner import Runner
from moxing.engine.wording import report
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest


class Stopped(SystemExit):
    """Ends the program after a signal and a last save.

    Attributes:
        result: the outcome so far.
    """

    def __init__(self, code: int, result: Result) -> None:
        super().__init__(code)
        self.result = result


def say_stopped(job: Job, run: Runner, progress: Progress, stop: StopRequest) -> None:
    if job.training and stop.signal is not None:
        name = signal.Signals(stop.signal).name
        saved = (run.commits.newest or None) if job.log_dir is not None else None
        TENSORFLOW.info("%s", report.stopped(name, progress.global_step, saved, run.by_chief))


def _training_summary(job: Job, run: Runner, progress: Progress, target: str | None) -> str:
    pace = report.Pace(progress.seconds, progress.samples_per_second, progress.wait)
    newest = run.commits.newest or None
    places = report.Places(newest, job.log_dir, target, run.by_chief)
    return report.training_summary(progress.first, progress.global_step, pace, places)


def _evaluation_summary(progress: Progress) -> str:
    return report.evaluation_summary(
        global_step=progress.first,
        batches=progress.means.batches,
        samples=progress.means.samples,
        seconds=progress.seconds,
        means=progress.evaluated,
    )


def _prediction_summary(progress: Progress) -> str:
    return report.prediction_summary(
        global_step=progress.first,
        batches=progress.step,
        samples=progress.samples,
        seconds=progress.seconds,
    )


def finish(job: Job, run: Runner, progress: Progress, target: str | None) -> Result:
    metrics = progress.evaluated if job.mode == EVAL else dict(progress.values)
    if job.training:
        TENSORFLOW.info("%s", _training_summary(job, run, progress, target))
    elif job.mode == EVAL:
        TENSORFLOW.info("%s", _evaluation_summary(progress))
        warn_of_metrics(metrics)
    elif job.logging.sums_up:
        TENSORFLOW.info("%s", _prediction_summary(progress))
    return so_far(job, run, progress, target)


def so_far(job: Job, run: Runner, progress: Progress, target: str | None = None) -> Result:
    """Returns the outcome of the steps that are done."""
    metrics = progress.evaluated if job.mode == EVAL else dict(progress.values)
    return Result(
        progress.global_step if job.training else progress.first,
        progress.step,
        progress.seconds,
        metrics,
        run.commits.newest or None,
        target,
    )
