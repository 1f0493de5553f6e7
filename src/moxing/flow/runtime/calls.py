"""A job's graph, and the handle of one call of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxRuntimeError, MoxTypeError, shown
from moxing.flow.runtime.step_queue import Future, Worker
from moxing.flow.trace import context


@dataclass
class Built:
    """The graph of a job.

    Attributes:
        inputs: the placeholders of each argument; a mirrored argument has one for each device.
        result: the result of the function.
        outputs: the tensors of each blob in `result`; a mirrored blob has one for each device.
        watches: the tensors for watchers at each step.
        train: the operation of a step, or None.
        readers: the readers that deliver data.
        sources: descriptions of the records of a train job, alike on all machines.
        call: runs one step.
    """

    inputs: list[list[tf.Tensor]]
    result: Any
    outputs: list[list[tf.Tensor]]
    watches: list[context.Watch]
    train: tf.Operation | None
    readers: list[Any] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    call: Callable[..., Any] | None = None

    @property
    def fetches(self) -> list[Any]:
        """The tensors and operations that a step computes."""
        watched = [watch.deliver for watch in self.watches]
        outputs = [tensor for tensors in self.outputs for tensor in tensors]
        return [*outputs, *watched, *([self.train] if self.train is not None else [])]


class Handle:
    """A called step; `get` or `async_get` returns its result once."""

    def __init__(self, job: str, future: Future, worker: Worker) -> None:
        self._job, self._future, self._worker, self._used = job, future, worker, False

    def _use(self) -> Future:
        if self._used:
            raise MoxRuntimeError(
                f"the result of this call of {self._job} was taken already; call the job again."
            )
        self._used = True
        return self._future

    def get(self) -> Any:
        """Waits for the step, and returns arrays in the structure that the job returns."""
        result = self._use().result()
        self._worker.raise_fault()
        return result

    def async_get(self, callback: Callable[[Any], None]) -> None:
        """Lets a thread of the session call `callback` with the result."""
        if not callable(callback):
            raise MoxTypeError(f"async_get takes a function, not {shown(callback)}.")
        self._worker.when_done(self._use(), callback)
