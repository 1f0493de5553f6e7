"""What a step may fetch beside its train op, by name, and the session calls that fetch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Job
from moxing.engine.loop.hooks import HookChain
from moxing.engine.model.program import Program

Due = tuple[str, ...]

# Names of what is fetched, in steps where that is due.
LOG = "log"  # Values of the log line, losses, and what the input knows of its size and waiting.
MEANS = "means"  # Each device's logged values, in every step of EVAL.
SEEN = "seen"  # How many samples each device got, in every step of PREDICT.
OUTPUTS = "outputs"  # Each device's outputs.
SUMMARY = "summary"
TEAM = "team"  # What the other processes want, in every step where there are any.
_STEP = "step"


def of_program(job: Job, program: Program, summary: tf.Tensor | None) -> dict[str, Any]:
    """Everything that a step may fetch; the step itself is fetched always."""
    inputs, model = program.inputs, program.model
    each = [_of_device(program, index) for index in range(len(program.replicas))]
    samples = {"samples": each[0]["samples"]} if "samples" in each[0] else {}
    wait = {} if inputs.wait is None else {"wait": inputs.wait}
    losses = {loss.tensor.name: loss.tensor for loss in model.losses} if job.training else {}
    outputs, means = [], []
    for part, common in zip(program.replicas, each, strict=True):
        means.append({**common, "values": dict(part.model.log)})
        outputs.append({**common, "values": dict(part.model.outputs)})
    fetches: dict[str, Any] = {
        _STEP: program.step_op,
        LOG: {"values": dict(program.log), "losses": losses, **samples, **wait},
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
    """What is fetched of a device's input beside its values: its size, whether it is real."""
    inputs = program.inputs
    count = inputs.counts[index]
    sized = {"samples": count} if isinstance(count, tf.Tensor) else {}
    return {**sized, "real": inputs.real[index]} if inputs.real else sized


class Stepper:
    """Runs single steps: one session call each, through hooks where there are any.

    Args:
        session: an open session.
        hooks: called around every step.
        fetches: of the program.
    """

    def __init__(self, session: tf.Session, hooks: HookChain, fetches: dict[str, Any]) -> None:
        self._session, self._hooks, self._fetches = session, hooks, fetches
        self._callables: dict[Due, Callable[[], Any]] = {}

    def run(self, due: Due) -> Any:
        """Runs one step; the values of what is due, by name."""
        if self._hooks:
            return self._hooks.run(self._session, self._fetches_of(due))
        return self.function(due)()

    def function(self, due: Due) -> Callable[[], Any]:
        """What runs a step without hooks."""
        function = self._callables.get(due)
        if function is None:
            function = self._session.make_callable(self._fetches_of(due))
            self._callables[due] = function
        return function

    def _fetches_of(self, due: Due) -> Any:
        """A step in which nothing is due fetches one operation: TensorFlow's shortest way."""
        fetches = {name: self._fetches[name] for name in due}
        return {**fetches, _STEP: self._fetches[_STEP]} if due else self._fetches[_STEP]
