"""The job that is being traced, with its state so far."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.flow.trace.conf import JobConf
from moxing.flow.trace.declared import Declared
from moxing.flow.trace.exchange import Exchange
from moxing.flow.trace.topology import Topology

# Revisions of the original; their order is the order of their texts.
NOVEMBER_2019, MARCH_2020, JUNE_2020 = "2019-11", "2020-03", "2020-06"


class Numbers:
    """Numbers the operations without a name of the whole process, as the original's counter.

    Attributes:
        next: the number of the next operation without a name.
    """

    def __init__(self) -> None:
        self.next = 0
        self._inside = threading.local()

    @contextmanager
    def operation(self) -> Iterator[bool]:
        """Yields whether the program itself called the operation, and not another operation."""
        outermost = not getattr(self._inside, "flag", False)
        self._inside.flag = True
        try:
            yield outermost
        finally:
            self._inside.flag = not outermost

    def take(self, count: int) -> None:
        """Takes the next `count` numbers."""
        self.next += count


numbers = Numbers()


@dataclass
class Watch:
    """A blob, or the gradient at a blob, that a function gets at each step."""

    blob: Any
    handler: Any
    of_gradient: bool = False
    deliver: Any = None
    optional: bool = False  # Whether to drop the watch if no loss depends on the blob.


@dataclass
class Trace:
    """A job while its function runs.

    Attributes:
        name: the name of the job.
        conf: the job's settings; frozen at its first operation.
        variables: the `Variables` of the session.
        graph: the graph of its operations.
        topology: the devices and machines of the session.
        blobs: the variables that this job read, by name.
        made: all blobs in the order in which they were made, without their parts.
        losses: the blobs given to `add_loss`.
        watches: the watches of `watch` and `watch_diff`.
        started: whether an operation was made.
        names: operation names that are taken.
        unnamed: the number of layers without a name, by kind.
        revision: the revision of the original that the job was written for, as far as its
            declaration shows.
        prefixes: the open variable scopes.
        updates: assignments of a train job beside the optimizer's.
        readers: the readers of datasets, with the state that calls share, by placement.
        in_part: whether an operation on one device's part is being made.
        declared: the sizes of values whose inputs may come with fewer elements.
    """

    name: str
    conf: JobConf
    variables: Any
    graph: tf.Graph
    topology: Topology = field(default_factory=Topology)
    blobs: dict[str, Any] = field(default_factory=dict)
    made: list[Any] = field(default_factory=list)
    trainable: dict[str, bool] = field(default_factory=dict)
    regularizers: dict[str, Any] = field(default_factory=dict)
    losses: list[Any] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    started: bool = False
    names: set[str] = field(default_factory=set)
    unnamed: dict[str, int] = field(default_factory=dict)
    revision: str = NOVEMBER_2019
    prefixes: list[str] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    readers: dict[Any, Any] = field(default_factory=dict)
    in_part: bool = False
    declared: Declared = field(default_factory=Declared)

    @property
    def prefix(self) -> str:
        """The prefix of open variable scopes: `a-b-`."""
        return "".join(f"{part}-" for part in self.prefixes)


_current = threading.local()


def current() -> Trace | None:
    """The job that is being traced in this thread."""
    return getattr(_current, "trace", None)


def required(what: str) -> Trace:
    """The job that is being traced.

    Raises:
        MoxRuntimeError: no job is being traced.
    """
    trace = current()
    if trace is None:
        raise MoxRuntimeError(
            f"{what} was called outside a job. Call it in a function with @flow.function, which"
            " runs when the session starts."
        )
    return trace


def exchange() -> Exchange | None:
    """The traced job's exchange with other machines; None if there are none."""
    trace = current()
    return trace.topology.exchange if trace is not None else None


def enter_op(operation: str) -> Trace:
    """The job, which can't be configured from now on."""
    trace = required(operation)
    trace.started = True
    return trace


def check_owner(trace: Trace, blob: Any, operation: str) -> None:
    """Raises an error if a blob belongs to another job."""
    if blob.graph is not trace.graph or blob.job != trace.name:
        raise MoxRuntimeError(
            f"{operation} in job {trace.name} was given a blob of another job or of a session that"
            " is closed. Jobs share variables, by their names, and nothing else."
        )


def op_name(name: str | None, default: str, prefixed: bool = True) -> str:
    """A name for an operation.

    Args:
        name: the user's name for it.
        default: its name otherwise, to which a number is added.
        prefixed: whether open variable scopes are put before the user's name.

    Raises:
        MoxValueError: the job has an operation of this name.
    """
    trace = enter_op(default)
    if name is None:
        count = 0
        while (own := f"{trace.prefix}{default}_{count}") in trace.names:
            count += 1
        trace.names.add(own)
        return own
    own = trace.prefix + name if prefixed else name
    if own in trace.names:
        raise MoxValueError(
            f"job {trace.name} has two operations named {own!r}. Names are unique within a job;"
            " leave name= out to get one."
        )
    trace.names.add(own)
    return own


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Makes `trace` the current job inside the block."""
    if current() is not None:
        raise MoxRuntimeError(f"job {trace.name} was called while another job was traced.")
    _current.trace = trace
    try:
        yield
    finally:
        _current.trace = None
