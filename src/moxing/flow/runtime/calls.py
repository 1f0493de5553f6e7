"""A job's graph, and the handle of one call of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError, MoxRuntimeError, MoxTypeError, shown
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


def _refused(operation: str) -> Callable[..., NoReturn]:
    """A method that tells what to do in place of an operation of Python on a handle."""

    def method(self: Handle, *_: Any) -> NoReturn:
        raise MoxTypeError(self.hint(operation))

    return method


class Handle:
    """A called step; `get` or `async_get` returns its result once."""

    def __init__(self, job: str, future: Future, worker: Worker) -> None:
        self._job, self._future, self._worker, self._used = job, future, worker, False

    def hint(self, operation: str) -> str:
        """The sentence for a program that takes the handle for the step's result."""
        return (
            f"{operation}: the call of job {self._job} returned a handle, as the step may still run"
            f" then. Take the step's result first: {self._job}(...).get()."
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MoxAttributeError(self.hint(f".{name}"), name=name)

    def __repr__(self) -> str:
        return f"<a step of job {self._job}: .get() waits for its result>"

    __array__ = _refused("an array of the result")
    __float__, __int__ = _refused("float(...)"), _refused("int(...)")
    __index__, __len__ = _refused("an index"), _refused("len(...)")
    __iter__, __getitem__ = _refused("an iteration or unpacking"), _refused("[...]")
    __format__ = _refused("a format")
    __add__ = __radd__ = _refused("+")
    __sub__ = __rsub__ = _refused("-")
    __mul__ = __rmul__ = _refused("*")
    __truediv__ = __rtruediv__ = _refused("/")
    __lt__, __le__, __gt__, __ge__ = (_refused(sign) for sign in ("<", "<=", ">", ">="))

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
