"""Keeps the last finished step where a signal finds the run in a step that may wait for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Job
from moxing.engine.loop import stall
from moxing.engine.loop.progress import Progress
from moxing.engine.process.escape import Escape
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.run.commits import Commits
from moxing.engine.wording import report
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest, name

PATIENCE = 2.0  # Seconds that a step which waits may go on waiting after a signal.
_PATIENCE_UNSAVED = 10.0  # Where nothing is to be saved, so that nothing is gained by haste.
_TURN = 0.1


@dataclass(frozen=True)
class _Steps:
    """A loop that runs, and what tells how far its steps have come."""

    session: tf.Session
    progress: Progress
    begun: tf.Tensor | None


class Beside:
    """Leaves from another thread, where the main thread does not come to act on a signal.

    Args:
        job: the job.
        commits: saves it.
        escape: the way out.
        recorder: keeps the records of the run.
        stop: signals of this process.
    """

    def __init__(
        self, job: Job, commits: Commits, escape: Escape, recorder: Recorder, stop: StopRequest
    ) -> None:
        self._job, self._commits, self._escape = job, commits, escape
        self._recorder, self._stop = recorder, stop
        self._main = threading.get_ident()
        self._steps: _Steps | None = None
        self._over = threading.Event()

    @contextmanager
    def ready(self) -> Iterator[None]:
        """In the block, which opens a session and runs a loop, signals are acted on."""
        self._stop.later = self._leave
        try:
            yield
        finally:
            self._over.set()
            self._stop.later = None

    @contextmanager
    def steps(
        self, session: tf.Session, progress: Progress, begun: tf.Tensor | None
    ) -> Iterator[None]:
        """In the block a loop runs its steps.

        Args:
            session: the session of the loop.
            progress: of the loop.
            begun: how many of its steps may have changed variables; None: that is not known.
        """
        self._steps = _Steps(session, progress, begun)
        try:
            yield
        finally:
            self._over.set()

    def _leave(self, number: int) -> None:
        """Waits until the process can leave with nothing lost, or its main thread acts."""
        saves = self._job.training and self._commits.active
        began = time.monotonic()
        while not self._over.wait(_TURN):
            waited, steps = time.monotonic() - began, self._steps
            if steps is None:
                if waited >= _PATIENCE_UNSAVED and not self._escape.saves:
                    self._end(number, report.stopped_before(name(number)))
            elif not stall.in_step(self._main):
                began = time.monotonic()  # It saves, or evaluates between two steps.
            elif saves and steps.begun is not None:
                if waited >= PATIENCE:
                    self._save(number, steps)
            elif not saves and waited >= _PATIENCE_UNSAVED:
                step = steps.progress.global_step
                self._end(number, report.stopped(name(number), step, None))

    def _save(self, number: int, steps: _Steps) -> None:
        """Saves and leaves, if the step that runs has changed nothing yet."""
        done, step = steps.progress.step, steps.progress.global_step

        def holds() -> bool:
            return steps.progress.step == done == int(steps.session.run(steps.begun))

        release = None
        try:
            if not holds():
                return
            TENSORFLOW.warning("%s", report.waits_for_data(step))
            if done:
                release = self._commits.save_beside(steps.session, step, holds)
                if release is None or not holds():
                    return
            saved = self._commits.newest or None
            self._end(number, report.stopped(name(number), step, saved))
        except Exception as error:
            # Where the step has gone on meanwhile, the main thread saves it, or says the same.
            if not self._over.wait(1.0):
                TENSORFLOW.error("Step %d could not be saved: %s", step, error)
                self._over.set()
        finally:
            if release is not None:
                release()

    def _end(self, number: int, said: str) -> None:
        if self._job.training:
            TENSORFLOW.info("%s", said)
        code = 128 + number
        self._recorder.close(SystemExit(code))
        self._escape.leave(code)
