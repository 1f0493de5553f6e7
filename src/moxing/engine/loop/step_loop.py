"""The step loop: one session call per step, and the reports and saves that are due at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame, exhausted, fitting
from moxing.engine.job.job import PREDICT, Job
from moxing.engine.loop import fetches, peers
from moxing.engine.loop.evaluation import EvaluationMeans, OutputBatches
from moxing.engine.loop.fetches import Due, Stepper
from moxing.engine.loop.hooks import HookChain
from moxing.engine.loop.progress import Progress
from moxing.engine.loop.saves import Saves, Writer
from moxing.engine.loop.schedule import Schedule
from moxing.engine.loop.step_log import Reporters, StepLog
from moxing.engine.model.program import Program
from moxing.engine.parallel.self_exchange import SavePoints
from moxing.engine.process.solo import Solo


@dataclass(frozen=True)
class Running:
    """The objects that a loop runs its steps with.

    Attributes:
        program: the built job.
        session: an open session on its graph, in which all variables have values.
        hooks: hooks called around every step.
        team: the processes that train together.
        stopped: returns whether a signal or a thread asks the loop to end.
    """

    program: Program
    session: tf.Session
    hooks: HookChain
    team: Solo
    stopped: Callable[[], bool]


class Loop:
    """Runs the steps of one job in an open session.

    Args:
        job: the job.
        running: the program, its session, hooks and team.
        reporters: the outputs to report to.
        writer: writes saves; None: the run has no files.
        first: the value of the global step in the session.
    """

    def __init__(
        self,
        job: Job,
        running: Running,
        reporters: Reporters,
        writer: Writer | None,
        first: int,
    ) -> None:
        program, session = running.program, running.session
        self._job, self._session, self._hooks = job, session, running.hooks
        self._stopped = running.stopped
        self._console, self._summaries = reporters.console, reporters.summaries
        self.progress = progress = Progress(first)
        reporters.recorder.progress = progress
        self._peers = peers.of_team(running.team, program, session, progress)
        self._means = EvaluationMeans(job, program, progress)
        self._outputs = OutputBatches(job, progress)
        self._log = StepLog(job, program, reporters, progress, self._peers.together)
        team = (fetches.TEAM,) if self._peers.active else ()
        always = (*team, *self._means.due, *self._outputs.due)
        self._schedule = Schedule(job, first, self._summaries, always, self._peers.workers)
        found = fetches.of_program(job, program, self._summaries.op)
        self._stepper = Stepper(session, running.hooks, found, program.earlier)
        self._saves = Saves(job.saving, writer, SavePoints(session), progress)
        self._pause_at: int | None = None
        samples = job.data.batch_size or program.inputs.samples
        self._samples = samples if isinstance(samples, int) else None

    @property
    def settled(self) -> bool:
        """Whether a checkpoint made now would hold all state of the optimizers of all processes."""
        return self._saves.nothing_outside

    def run(self) -> Progress:
        """Runs until the step limit, the end of the input, a hook or a signal stops it."""
        progress, started = self.progress, time.perf_counter()
        try:
            self._run_steps()
            self._means.finish(self._session)
            self._outputs.flush()
        except Exception as error:
            where = self._where()
            if not any(where in note for note in getattr(error, "__notes__", ())):
                error.add_note(f"openmox: raised {where}.")
            raise
        progress.seconds = time.perf_counter() - started
        if self._job.mode == PREDICT:
            progress.samples = int(progress.means.samples or 0)
        else:
            self._log.finish()
        return progress

    def _run_steps(self) -> None:
        progress, end = self.progress, self._schedule.end
        self._begin_pauses()
        while progress.step < end and not self._leaves():
            due = self._schedule.due(progress.step)
            try:
                values = self._step(due)
            except tf.errors.OpError as error:
                if self._is_end_of_data(error):
                    break
                raise
            if due:
                self._take(values)
            progress.step += 1
            self._peers.hear(values)
            if self._schedule.reports_rate(progress.step):
                self._log.report_rate()
            if self._console.live:
                self._console.tick(progress.step)
            self._saves.run(last=self._peers.left or progress.step >= end)
            if self._pause_at is not None and progress.global_step >= self._pause_at:
                self._pause()

    def _leaves(self) -> bool:
        """Whether the loop ends before another step."""
        return self._peers.leave(self._stopped() or self._hooks.stop_requested)

    def _is_end_of_data(self, error: tf.errors.OpError) -> bool:
        """Whether the data of this or another process has ended; other errors get a note."""
        if isinstance(error, tf.errors.OutOfRangeError):
            if hasattr(error, "__notes__"):  # Errors of hooks have notes: a hook's data has ended.
                return False
            self.progress.input_ended = True
            self._peers.end_of_input(error)
            return True
        if self._peers.ended(error):
            return True
        room = fitting.room(self._session, self._samples) if exhausted.is_exhausted(error) else None
        error.add_note(blame.about(error, self._session.graph, self._where(), room))
        return False

    def _step(self, due: Due) -> Any:
        """Runs a step, or several steps of which only the last has work due after it."""
        if due or self._hooks or self._console.live:
            return self._stepper.run(due)
        self._plain_steps()
        return None

    def _plain_steps(self) -> None:
        """Runs steps up to the next one that has work due after it, such as a save.

        Counts the other steps. `_run_steps` counts the last step and does the work after it, as
        after any step: to look for due work after each step would take longer than a small step.
        """
        progress, run = self.progress, self._stepper.function(())
        stopped, time_has_come = self._stopped, self._saves.time_has_come
        next_due = self._schedule.next_due(progress.step, self._saves.every_steps, self._pause_at)
        last = next_due - 1
        run()
        while progress.step < last and not stopped() and not time_has_come():
            progress.step += 1
            run()

    def _take(self, values: Mapping[str, Any]) -> None:
        """Passes on the values that a step fetched."""
        self._means.take(values)
        self._outputs.take(values)
        if fetches.LOG in values:
            self._log.log(values[fetches.LOG])
        if fetches.SUMMARY in values:
            self._summaries.write(self.progress.global_step, values[fetches.SUMMARY])

    def _begin_pauses(self) -> None:
        pauses, first = self._job.pauses, self.progress.first
        if pauses is not None:
            pauses.begin(self._session, first)
            self._pause_at = pauses.next(first)

    def _pause(self) -> None:
        pauses, step = self._job.pauses, self.progress.global_step
        assert pauses is not None
        self._hooks.stop_requested |= pauses.reached(self._session, step)
        self._pause_at = pauses.next(step)

    def _where(self) -> str:
        progress = self.progress
        global_step = progress.global_step if self._job.training else progress.first
        return f"in step {progress.step} (global step {global_step}) of {self._job.mode}"
