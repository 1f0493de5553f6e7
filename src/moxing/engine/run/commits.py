"""Commits the checkpoints of a training run, with what a resumed run must know beside variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import checkpoint
from moxing.engine.checkpoint import Checkpoint, Saver
from moxing.engine.graph import saveables
from moxing.engine.job.job import Job
from moxing.engine.loop.finite import FiniteVariables
from moxing.engine.loop.listeners import Listeners
from moxing.engine.process.escape import Escape
from moxing.engine.run import start_state
from moxing.engine.run.start_state import StartState


@dataclass(frozen=True)
class Start:
    """Where a run starts.

    Attributes:
        state: what the chief found out, the same in all processes.
        checkpoint: which values the variables get; None: their initial ones.
        lock: on log_dir; None: this process does not save there.
        positioned: whether the input starts behind the data that earlier runs took.
    """

    state: StartState
    checkpoint: Checkpoint | None = None
    lock: checkpoint.Held | None = None
    positioned: bool = False

    @property
    def input_steps(self) -> int:
        """Batches that earlier runs took from the input on a device, as this run's readers know."""
        return self.state.input_steps if self.positioned else 0

    @property
    def resumed_step(self) -> int | None:
        """The global step of a run that goes on; None: this one starts anew."""
        start = self.checkpoint
        return start.step if start is not None and start.resume else None


class Commits:
    """Saves the variables of a run where it has a directory; made before the graph is final.

    Args:
        job: saves as a training with a log_dir only.
        variables: what is saved, with the saveable objects of the graph.
        start: where the run starts.
        listeners: called around every commit.
        escape: is told of the time in which a process saves.

    Attributes:
        active: whether this process saves at all.
        newest: prefix of the last committed or restored checkpoint; empty: there is none.
        first: the global step of the first step of this run; known once there is a session.
    """

    def __init__(
        self,
        job: Job,
        variables: Sequence[tf.Variable],
        start: Start,
        listeners: Listeners,
        escape: Escape,
    ) -> None:
        self._start, self._listeners, self._escape = start, listeners, escape
        self._max_steps = job.max_steps
        self._batches = 1 if job.optimization.updating.parts else job.batches
        self.first = 0
        self.newest = start.checkpoint.prefix if start.checkpoint is not None else ""
        directory = job.log_dir if job.training else None
        self.active = directory is not None
        self._saver = None
        if directory:
            objects = saveables.of_graph()
            self._saver = Saver(directory, variables, job.saving.keep, objects)
        self._finite = FiniteVariables(variables, tf.trainable_variables()) if directory else None

    def save(self, session: tf.Session, step: int, input_ended: bool = False) -> None:
        """Commits a global step, between the calls of listeners."""
        self._listeners.around(lambda: self._commit(session, step, input_ended), session, step)

    def end(self, session: tf.Session, step: int) -> None:
        """After the last commit, whose step this is."""
        self._listeners.end(session, step)

    def _commit(self, session: tf.Session, step: int, input_ended: bool) -> None:
        assert self._saver is not None
        assert self._finite is not None
        if self._start.lock is not None:
            self._start.lock.check()
        self._finite.check(session, step, self.newest)
        with self._escape.saving():
            self.newest = self._saver.save(session, step, self._extra(step, input_ended)).prefix

    def _extra(self, step: int, input_ended: bool) -> dict[str, Any]:
        """What the manifest says beside the variables."""
        start = self._start
        taken = start.input_steps + (step - self.first) * self._batches
        extra: dict[str, Any] = {start_state.INPUT_STEPS: taken}
        if start.positioned:
            extra[start_state.INPUT_ORDER] = start.state.order
        if input_ended:
            extra[start_state.INPUT_ENDED] = self._max_steps
        return extra
