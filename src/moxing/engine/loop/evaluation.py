"""Collects the values of steps in EVAL and PREDICT: means over samples, and batches of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, PREDICT, Job
from moxing.engine.loop import fetches
from moxing.engine.loop.progress import Progress
from moxing.engine.model import streaming_metrics
from moxing.engine.model.program import Program
from moxing.engine.wording import user_calls


class EvaluationMeans:
    """Adds up each device's logged values in EVAL, and its number of samples in EVAL and PREDICT.

    Args:
        job: the job, whose mode decides which values are added up.
        program: the program that is run.
        progress: the object that gets the means.
    """

    def __init__(self, job: Job, program: Program, progress: Progress) -> None:
        log = program.model.log if job.mode == EVAL else {}
        self._streaming = {name: log[name] for name in streaming_metrics.names(log)}
        self._counts: Sequence[Any] = program.inputs.counts
        self._progress = progress
        self.due = {EVAL: (fetches.MEANS,), PREDICT: (fetches.SEEN,)}.get(job.mode, ())

    def take(self, values: Mapping[str, Any]) -> None:
        """Counts one step."""
        means, running = self._progress.means, self._progress.running
        if fetches.MEANS in values:
            for batch, count in zip(values[fetches.MEANS], self._counts, strict=True):
                if batch.get("real", True):
                    means.add(batch["values"], batch.get("samples", count))
            first = values[fetches.MEANS][0]["values"]
            running.update({name: first[name] for name in self._streaming})
        if fetches.SEEN in values:
            for batch, count in zip(values[fetches.SEEN], self._counts, strict=True):
                if batch.get("real", True):
                    means.add({}, batch.get("samples", count))

    def finish(self, session: tf.Session) -> None:
        """Reads, after the last step, the streaming metrics, which accumulate over all batches."""
        if self._streaming and self._progress.step:
            final = streaming_metrics.readable(self._streaming)
            self._progress.running.update(session.run(final))


class OutputBatches:
    """Passes the outputs of several steps at a time to the job's output function.

    Args:
        job: the job with the function, `Outputs.function`.
        progress: the loop's progress, for messages.
    """

    def __init__(self, job: Job, progress: Progress) -> None:
        self._wanted, self._mode, self._progress = job.outputs, job.mode, progress
        self._outputs: list[dict[str, Any]] = []
        self._steps = 0
        self.due = () if job.outputs.function is None else (fetches.OUTPUTS,)

    def take(self, values: Mapping[str, Any]) -> None:
        """Keeps one step's outputs."""
        if fetches.OUTPUTS not in values:
            return
        each = values[fetches.OUTPUTS]
        self._outputs += [device["values"] for device in each if device.get("real", True)]
        self._steps += 1
        if self._steps >= self._wanted.every:
            self.flush()

    def flush(self) -> None:
        """Passes the kept outputs to the function."""
        function = self._wanted.function
        if self._outputs and function is not None:
            outputs, self._outputs, self._steps = self._outputs, [], 0
            about = f"after step {self._progress.step} of {self._mode}"
            user_calls.call("output_fn", function, outputs, about=about)
