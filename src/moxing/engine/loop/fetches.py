"""The values that a step may fetch besides its train op, by name, and their session calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Job
from moxing.engine.loop.hooks import HookChain
from moxing.engine.model.accumulation import EarlierBatches
from moxing.engine.model.program import Program
from moxing.engine.wording import report
from moxing.logs import TENSORFLOW

Due = tuple[str, ...]

# Names of groups of values, which a step fetches if they are due.
LOG = "log"  # Values of the log line, losses, and the input's batch size and waiting time.
MEANS = "means"  # Each device's logged values, in every step of EVAL.
SEEN = "seen"  # How many samples each device got, in every step of PREDICT.
OUTPUTS = "outputs"  # Each device's outputs.
SUMMARY = "summary"
TEAM = "team"  # Messages of the other processes, in every step if there are other processes.
_STEP = "step"


def of_program(job: Job, program: Program, summary: tf.Tensor | None) -> dict[str, Any]:
    """All values that a step may fetch; the step operation itself is always fetched."""
    inputs, model = program.inputs, program.model
    each = [_of_device(program, index) for index in range(len(program.replicas))]
    samples = {"samples": each[0]["samples"]} if "samples" in each[0] else {}
    wait = {} if inputs.wait is None else {"wait": inputs.wait}
    losses = {loss.tensor.name: loss.tensor for loss in model.losses} if job.training else {}
    shown = {"shown": dict(program.shown)} if program.shown else {}
    outputs, means = [], []
    for part, common in zip(program.replicas, each, strict=True):
        means.append({**common, "values": dict(part.model.log)})
        outputs.append({**common, "values": dict(part.model.outputs)})
    fetches: dict[str, Any] = {
        _STEP: program.step_op,
        LOG: {"values": dict(program.log), "losses": losses, **shown, **samples, **wait},
        MEANS: means,
        SEEN: each,
        OUTPUTS: outputs,
    }
    if program.team is not None:
        told = {} if program.team.agreed is None else {"agreed": program.team.agreed}
        if not job.group.synchronous:
            told["global_step"] = program.global_step
        fetches[TEAM] = told
    if summary is not None:
        fetches[SUMMARY] = summary
    return fetches


def _of_device(program: Program, index: int) -> dict[str, Any]:
    """The fetched facts about a device's input: its size, and whether it is real."""
    inputs = program.inputs
    count = inputs.counts[index]
    sized = {"samples": count} if isinstance(count, tf.Tensor) else {}
    return {**sized, "real": inputs.real[index]} if inputs.real else sized


class _Earlier:
    """Runs the session calls of a step that come before its last one.

    Args:
        session: an open session.
        batches: the operations of these calls.
    """

    def __init__(self, session: tf.Session, batches: EarlierBatches) -> None:
        self._session, self._batches, self._taken = session, batches, 0
        self._first = session.make_callable(batches.first, [batches.number])
        self._further = session.make_callable(batches.further, [batches.number])

    def __call__(self, feeds: Mapping[Any, Any] | None = None) -> None:
        """Takes the batches.

        Args:
            feeds: the values that hooks feed in this step, in each of its calls.
        """
        batches = self._batches
        for self._taken in range(batches.count):
            if feeds:
                op = batches.further if self._taken else batches.first
                self._session.run(op, {**feeds, batches.number: self._taken})
            else:
                (self._further if self._taken else self._first)(self._taken)
        self._taken = batches.count

    @contextmanager
    def with_last(self) -> Iterator[None]:
        """In the block a whole step runs; logs how many batches are lost if the data ends in it."""
        try:
            yield
        except tf.errors.OutOfRangeError as error:
            by_hook = hasattr(error, "__notes__")
            if self._taken and not by_hook:
                of = self._batches.count + 1
                TENSORFLOW.warning("%s", report.unused_batches(self._taken, of))
            raise


def _after(earlier: _Earlier, last: Callable[[], Any]) -> Callable[[], Any]:
    def step() -> Any:
        with earlier.with_last():
            earlier()
            return last()

    return step


class Stepper:
    """Runs single steps: one session call each, through hooks where there are any.

    Args:
        session: an open session.
        hooks: hooks called around every step.
        fetches: all values that a step may fetch, from `of_program`.
        earlier: takes the batches of a step before the last one; None: a step is one batch.
    """

    def __init__(
        self,
        session: tf.Session,
        hooks: HookChain,
        fetches: dict[str, Any],
        earlier: EarlierBatches | None = None,
    ) -> None:
        self._session, self._hooks, self._fetches = session, hooks, fetches
        self._earlier = None if earlier is None else _Earlier(session, earlier)
        self._callables: dict[Due, Callable[[], Any]] = {}

    def run(self, due: Due) -> Any:
        """Runs one step and returns the values that are due, by name."""
        if not self._hooks:
            return self.function(due)()
        if self._earlier is None:
            return self._hooks.run(self._session, self._fetches_of(due))
        with self._earlier.with_last():
            return self._hooks.run(self._session, self._fetches_of(due), self._earlier)

    def function(self, due: Due) -> Callable[[], Any]:
        """The function that runs a step without hooks."""
        function = self._callables.get(due)
        if function is None:
            function = self._session.make_callable(self._fetches_of(due))
            if self._earlier is not None:
                function = _after(self._earlier, function)
            self._callables[due] = function
        return function

    def _fetches_of(self, due: Due) -> Any:
        """The fetches of a step; if nothing is due, one operation, TensorFlow's fastest call."""
        fetches = {name: self._fetches[name] for name in due}
        return {**fetches, _STEP: self._fetches[_STEP]} if due else self._fetches[_STEP]
