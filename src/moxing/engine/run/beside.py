"""Saves the last finished step if a signal finds the run in a step that may wait for ever.

The process that saves leaves first. It tells the others, which wait in the same step, or for this
process. Where workers do not wait for each other, a worker that waits for its data stands aside, so
that the others save without this worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.cluster.failure import PeerFailureError
from moxing.engine.job.job import Job
from moxing.engine.loop import stall
from moxing.engine.loop.step_loop import Loop
from moxing.engine.model.program import Program
from moxing.engine.process.solo import Left, Solo
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.run.commits import Commits
from moxing.engine.wording import option_names, report
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest, name

PATIENCE = 2.0  # Seconds after a signal in which a waiting step may still get its data.
PATIENCE_TOGETHER = 5.0  # Among processes, whose steps also wait for the slowest of them.
PATIENCE_UNSAVED = 10.0  # If there is nothing to save.
PATIENCE_UNSAFE = 25.0  # If the last finished step can't be saved; platforms kill after 30.
_TURN = 0.1


@dataclass(frozen=True)
class _Steps:
    """A running loop, with its session and program, which tell how far its step has come."""

    session: tf.Session
    loop: Loop
    built: Program

    @property
    def safe(self) -> bool:
        """Whether the last finished step can be saved while the step after it waits."""
        begun = self.built.begun
        return begun is not None and begun.guards and self.loop.settled

    def waits(self, done: int) -> bool:
        """Whether the step after step number `done` has not begun; True if that is not known."""
        if self.loop.progress.step != done:
            return False
        begun = self.built.begun
        return begun is None or int(self.session.run(begun.steps)) == done


class Beside:
    """Ends the process from another thread, if the main thread does not act on a signal.

    Args:
        job: the job.
        commits: saves the run.
        team: the processes that train together.
        recorder: keeps the records of the run.
        stop: signals of this process.
    """

    def __init__(
        self, job: Job, commits: Commits, team: Solo, recorder: Recorder, stop: StopRequest
    ) -> None:
        self._job, self._commits, self._team = job, commits, team
        self._recorder, self._stop = recorder, stop
        self._main = threading.get_ident()
        self._steps: _Steps | None = None
        self._over, self._asked = threading.Event(), threading.Lock()
        self._patience = PATIENCE if team.alone else PATIENCE_TOGETHER

    @contextmanager
    def ready(self) -> Iterator[None]:
        """In the block, which opens a session and runs a loop, a thread acts on signals."""
        self._stop.later = self._leave
        if not self._team.alone:
            hear = option_names.carried(self._hear)
            threading.Thread(target=hear, name="stop of others", daemon=True).start()
        try:
            yield
        finally:
            self._over.set()
            self._stop.later = None

    @contextmanager
    def steps(self, session: tf.Session, loop: Loop, built: Program) -> Iterator[None]:
        """In the block, `loop` runs the steps of the program `built` in the session."""
        self._steps = _Steps(session, loop, built)
        try:
            yield
        finally:
            self._over.set()

    def _hear(self) -> None:
        """Acts on a signal that another process got."""
        while not self._over.wait(2 * _TURN):
            if (number := self._team.stop_signal()) is not None:
                self._leave(number)
                return

    def _leave(self, number: int) -> None:
        """Waits until the process can leave with nothing lost, or its main thread acts."""
        if not self._asked.acquire(blocking=False):
            return
        self._team.tell_stop(number)
        saves = self._job.training and self._commits.active
        began = time.monotonic()
        while not self._over.wait(_TURN):
            waited, steps = time.monotonic() - began, self._steps
            if (left := self._team.left()) is not None:
                self._follow(number, left)
            elif steps is None:
                if waited >= PATIENCE_UNSAVED and not self._team.escape.saves:
                    self._end(number, report.stopped_before(name(number)))
            elif not stall.in_step(self._main):
                began = time.monotonic()  # The main thread saves, or evaluates between two steps.
            elif self._team.apart and not self._team.is_chief:
                if waited >= self._patience:
                    self._stand_aside(number, steps)
            elif self._team.is_chief:
                self._lead(number, steps, waited, saves)

    def _lead(self, number: int, steps: _Steps, waited: float, saves: bool) -> None:
        """Leaves, in the process that saves, if its step has waited for too long."""
        done, step = steps.loop.progress.step, steps.loop.progress.global_step
        if saves and steps.safe:
            if waited >= self._patience:
                self._save(number, steps)
        elif waited >= (PATIENCE_UNSAFE if saves else PATIENCE_UNSAVED) and steps.waits(done):
            newest = self._commits.newest if saves else None
            self._end(number, report.stopped_unsaved(name(number), step, newest), step)

    def _save(self, number: int, steps: _Steps) -> None:
        """Saves and leaves, if the step that runs has changed nothing yet."""
        done = steps.loop.progress.step

        def holds() -> bool:
            return steps.waits(done)

        release, step = None, steps.loop.progress.global_step
        try:
            if not holds():
                return
            if self._team.apart:
                self._team.barrier("end", None)  # By now all others have ended their steps.
                step = int(steps.session.run(steps.built.global_step))
            TENSORFLOW.warning("%s", report.waits_for_data(step, self._team.alone))
            if step != self._commits.first:
                release = self._commits.save_beside(steps.session, step, holds)
                if not self._team.apart and (release is None or not holds()):
                    return
            if self._team.apart:
                self._team.barrier("closed", None)
            saved = self._commits.newest or None
            self._end(number, report.stopped(name(number), step, saved), step)
        except PeerFailureError:
            return  # Another thread ends this process.
        except Exception as error:
            # If the step has gone on meanwhile, the main thread saves it, or logs that it can't.
            if not self._over.wait(1.0):
                TENSORFLOW.error("Step %d could not be saved: %s", step, error)
                newest = self._commits.newest
                self._end(number, report.stopped_unsaved(name(number), step, newest), step)
        finally:
            if release is not None:
                release()

    def _stand_aside(self, number: int, steps: _Steps) -> None:
        """Lets the others end and save the run while the step here waits, and leaves after them."""
        if not steps.waits(steps.loop.progress.step):
            return
        with suppress(PeerFailureError):
            for point in ("end", "closed"):
                self._team.barrier(point, None)
            self._team.wait_kept()
        step = steps.loop.progress.global_step
        self._end(number, report.stopped(name(number), step, None, by_chief=True))

    def _follow(self, number: int, left: Left) -> None:
        """Leaves after the process that saves, if the main thread does not leave."""
        if not self._over.wait(1.0):
            said = report.stopped(name(number), left.step, None, by_chief=left.saved)
            self._end(number, said)

    def _end(self, number: int, said: str, step: int | None = None) -> None:
        """Ends the process.

        Args:
            number: the number of the signal.
            said: the last log line.
            step: the global step at which the whole run ends; None: only this process ends.
        """
        if self._job.training:
            TENSORFLOW.info("%s", said)
        code = 128 + number
        self._recorder.close(SystemExit(code))
        saved = self._commits.active

        def farewell() -> None:
            if step is not None:
                self._team.tell_left(Left(step, saved))
            self._team.leave(SystemExit(code))

        self._team.escape.leave(code, farewell)
