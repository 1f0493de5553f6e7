"""Commits a training run's checkpoints, with other facts that a resumed run needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.lock import Held
from moxing.engine.checkpoint.manifest import read_extra, read_input
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.saving.saver import Saver
from moxing.engine.data.position import Kind, Position
from moxing.engine.graph import saveables
from moxing.engine.job.job import Job
from moxing.engine.loop.finite import FiniteVariables
from moxing.engine.loop.listeners import Listeners
from moxing.engine.process.escape import Escape
from moxing.engine.run import start_state
from moxing.engine.run.background import Background
from moxing.engine.run.start_state import StartState
from moxing.logs import TENSORFLOW


@dataclass(frozen=True)
class Start:
    """The state from which a run starts.

    Attributes:
        state: the chief's findings, the same in all processes.
        checkpoint: has the values of the variables; None if they get their initial values.
        lock: the lock on log_dir; None if this process does not save there.
        positioned: whether openmox's readers start after the data that earlier runs took.
    """

    state: StartState
    checkpoint: Checkpoint | None = None
    lock: Held | None = None
    positioned: bool = False

    @property
    def resumed_step(self) -> int | None:
        """The global step from which an earlier run is resumed; None if this run starts anew."""
        start = self.checkpoint
        return start.step if start is not None and start.resume else None


class _GoesOn(Exception):
    """The waiting step has begun to change variables: the last finished step can't be saved."""


class Commits:
    """Saves the variables of a run that has a directory; made before the graph is finalized.

    Args:
        job: the job of the run; only a training with a log_dir saves.
        variables: the variables to save; the saveable objects of the graph are saved with them.
        start: the state from which the run starts.
        listeners: called around every commit.
        escape: ends this process when another one is lost, but not in the middle of a save.
        position: the position in the input.

    Attributes:
        active: whether this process saves at all.
        newest: prefix of the last committed or restored checkpoint; empty if there is none.
        first: the global step at which this run starts; set once there is a session.
        goes_on: whether the data goes on where earlier runs stopped; set after `first`.
    """

    def __init__(
        self,
        job: Job,
        variables: Sequence[tf.Variable],
        start: Start,
        listeners: Listeners,
        escape: Escape,
        position: Position,
    ) -> None:
        self._position, self._elements = position, start_state.elements(job)
        self._workers, self.goes_on = job.group.size, False
        self._shares = start_state.shares(job)
        self._start, self._listeners, self._escape = start, listeners, escape
        self._lock, self._is_own = threading.Lock(), False
        self._batches_of_device = job.batches
        self._max_steps = job.max_steps
        self._batches = 1 if job.optimization.updating.parts else job.batches
        self.first = 0
        self.newest = start.checkpoint.prefix if start.checkpoint is not None else ""
        directory = job.log_dir if job.training else None
        self.active = directory is not None
        self._saver = None
        if directory:
            objects = saveables.of_graph()
            saving = job.saving
            self._saver = Saver(directory, variables, saving.keep, objects, saving.hours)
        # Where nothing is saved, values are only checked at the end; in a cluster the chief saves.
        checked = directory or (job.training and job.group.cluster is None)
        self._finite = FiniteVariables(variables, tf.trainable_variables()) if checked else None
        self._background = Background()
        # Listeners read the files of a commit at once, and the processes of a cluster wait for the
        # chief's save: then each save is written before the next step.
        alone = job.group.cluster is None
        self._beside = alone and not job.saving.listeners and not job.saving.in_step

    def save(self, session: tf.Session, step: int, input_ended: bool = False) -> None:
        """Commits a checkpoint, and calls the listeners before and after it."""

        def commit() -> None:
            with self._lock:
                self._background.wait()
                self._commit(session, step, input_ended, lambda: self._position.save(session))

        self._listeners.around(commit, session, step)

    def save_between(self, session: tf.Session, step: int) -> None:
        """Like `save`, but a large checkpoint is only copied, and written beside the next steps.

        Raises:
            CheckpointError: the previous checkpoint's write beside the steps has failed.
        """
        if not (self._beside and self._copy(session, step)):
            self.save(session, step)

    def check(self) -> None:
        """Raises the error of a write that failed beside the training."""
        self._background.check()

    def finish_writing(self) -> None:
        """Waits for a write beside the training, before the run or the process ends by an error.

        An error of the write is only logged: the error that ends the run or the process is raised.
        """
        try:
            self._background.wait()
        except Exception as error:
            TENSORFLOW.error("%s", error)

    def _copy(self, session: tf.Session, step: int) -> bool:
        """Copies the values and begins to write them.

        Returns:
            Whether the values were copied: they are not if they are few, or can't be copied.
        """
        assert self._saver is not None
        with self._lock:
            self._background.wait()
            self._check_lock()
            finite = self._finite
            assert finite is not None
            extra = self._extra(step, False)
            placed = extra[start_state.INPUT_STEPS]
            place = (lambda: self._position.save(session)) if placed else (lambda: None)

            def check(copies: Iterable[tuple[str, np.ndarray]]) -> None:
                finite.check_copies(copies, step, self.newest)

            commit = self._saver.copy(session, step, extra, place, check)
            if commit is None:
                return False

            def write() -> None:
                with self._escape.saving():
                    self.newest, self._is_own = commit().prefix, True

            self._background.start(f"of step {step}", write)
            return True

    def save_beside(
        self, session: tf.Session, step: int, holds: Callable[[], bool]
    ) -> Callable[[], None] | None:
        """Commits the last finished step from another thread, while the step after it waits.

        Listeners are not called, as they may wait too. While the step waits, the state
        of the input can't be read. So the commit records the state of the commit before, and the
        number of batches that were taken since that commit.

        Args:
            session: the session, in which a step waits.
            step: the last finished step.
            holds: returns whether the waiting step has changed nothing yet.

        Returns:
            A function that releases the lock on saving, which stays held until then; None: the
            waiting step went on meanwhile, and nothing was saved.
        """
        with ExitStack() as held:
            held.enter_context(self._lock)
            self._background.wait()
            if not holds():
                return None
            try:
                self._commit(session, step, False, lambda: self._older_place(step, holds))
            except _GoesOn:
                return None
            return held.pop_all().close

    def check_unsaved(self, session: tf.Session, step: int) -> None:
        """Raises a NotFiniteError if a training that saves nothing ends with nan or inf."""
        if self._finite is not None and not self.active:
            self._finite.check(session, step, None)

    def end(self, session: tf.Session, step: int) -> None:
        """Calls the listeners after the last commit, which was at `step`."""
        self._listeners.end(session, step)

    def _commit(
        self,
        session: tf.Session,
        step: int,
        input_ended: bool,
        place: Callable[[], bytes | None],
    ) -> None:
        assert self._saver is not None
        self._check(session, step)
        with self._escape.saving():
            extra = self._extra(step, input_ended)
            placed = extra[start_state.INPUT_STEPS] and not input_ended
            saved = self._saver.save(session, step, extra, place if placed else lambda: None)
            self.newest, self._is_own = saved.prefix, True

    def _check(self, session: tf.Session, step: int) -> None:
        """Raises if another run has taken log_dir, or if values are not finite."""
        assert self._finite is not None
        self._check_lock()
        self._finite.check(session, step, self.newest)

    def _check_lock(self) -> None:
        if self._start.lock is not None:
            self._start.lock.check()

    def _older_place(self, step: int, holds: Callable[[], bool]) -> bytes | None:
        """The input's state in the last commit, with the number of batches that were taken since.

        Called once the variables are written. None: the last commit has no state that this run can
        use.

        Raises:
            _GoesOn: the waiting step has begun to change the variables.
        """
        if not holds():
            raise _GoesOn
        same_workers = self._start.state.workers in (0, self._workers)
        if not self.newest or not (self._is_own or (self.goes_on and same_workers)):
            return None
        last = Checkpoint(self.newest, None)
        state = read_input(last)
        if state is None:
            return None
        taken = self._extra(step, False)[start_state.INPUT_TAKEN]
        since = taken - int(read_extra(last).get(start_state.INPUT_TAKEN, 0))
        return self._position.older(state, since // self._elements * self._batches_of_device)

    def _extra(self, step: int, input_ended: bool) -> dict[str, Any]:
        """Returns the facts for the manifest beside the variables."""
        state, steps = self._start.state, step - self.first
        taken = state.taken - self._position.again
        before = (state.input_steps, taken) if self.goes_on else (0, 0)
        extra: dict[str, Any] = {
            start_state.INPUT_STEPS: before[0] + steps * self._batches,
            start_state.INPUT_TAKEN: before[1] + steps * self._elements,
            start_state.INPUT_WORKERS: self._workers,
            start_state.INPUT_PIPELINES: list(self._position.pipelines),
        }
        if self._shares:
            extra[start_state.INPUT_SHARES] = self._shares
        if self._position.kind not in (Kind.NONE, Kind.NOTHING):
            extra[start_state.INPUT_ORDER] = state.order
        if input_ended:
            extra[start_state.INPUT_ENDED] = self._max_steps
        return extra
