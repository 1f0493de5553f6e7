"""Runs an operation on each device's part of its blobs, where that makes what the whole would.

Blobs of this API are logical: a job's code sees the shape of the whole batch, and runs once. On
several devices a blob of samples is held as one part a device, along axis 0. An operation that
treats samples alike (see `rules`) is made once a device; any other one takes its blobs whole.
Either way the values are those of one device.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import tensorflow.compat.v1 as tf

from moxing.flow import placement, scope
from moxing.flow.blobs import Blob

# What an operation needs instead of its arguments, by name, one for each device; None: it needs
# its blobs whole.
Plan = Mapping[str, Sequence[Any]] | None
Rule = Callable[[Mapping[str, Any], int], Plan]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def by_sample(rule: Rule) -> Callable[[_Function], _Function]:
    """Makes an operation run on each device's part, where `rule` says that it can.

    Args:
        rule: is given the arguments by name and the number of devices.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            count = _parts(args) or _parts(kwargs.values())
            if not count or scope.current() is None or count != len(placement.active()):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            plan = rule(bound.arguments, count)
            if plan is None:
                return function(*args, **kwargs)
            return each(count, lambda index: function(**_local(bound.arguments, plan, index)))

        return call  # type: ignore[return-value]

    return decorate


def each(count: int, make: Callable[[int], Blob]) -> Blob:
    """The blob whose parts `make` makes, each on its device."""
    trace = scope.required("an operation")
    before, parts = set(trace.names), []
    for index in range(count):
        # One name of the user's is that of all parts.
        trace.names = set(before)
        with on(index):
            parts.append(make(index))
    return Blob(None, parts[0].batch_axis, parts[0].distribute, parts=parts)


@contextmanager
def on(index: int) -> Iterator[None]:
    """Operations inside are made on the device of that index."""
    outer = tf.get_default_graph().get_name_scope()
    inner = f"{outer}/device{index}/" if outer else f"device{index}/"
    with tf.device(placement.active()[index]):
        if index == 0:  # Names of the first are those of one device.
            yield
            return
        with tf.name_scope(inner):
            yield


def split(tensor: tf.Tensor, count: int) -> list[Blob]:
    """Equal parts of a tensor along axis 0."""
    with tf.device("/cpu:0"):
        return [Blob(part) for part in tf.split(tensor, count)]


def share(batch: int, what: str) -> int:
    """How many samples of a batch each device takes.

    Args:
        batch: samples on all devices together.
        what: says whose batch it is, in an error.

    Raises:
        MoxValueError: they can't be shared evenly.
    """
    from moxing.errors import MoxValueError

    count = len(placement.active())
    if batch % count:
        raise MoxValueError(
            f"{what}: a batch of {batch} can't be shared evenly by {count} devices"
            f" (gpu_device_num). Use a multiple of {count}, or another number of devices."
        )
    return batch // count


def _parts(values: Any) -> int:
    """The number of parts of the blobs among the arguments; 0: all are whole."""
    for value in values:
        if isinstance(value, Blob):
            if value.parts:
                return len(value.parts)
        elif isinstance(value, list | tuple) and (found := _parts(value)):
            return found
    return 0


def _local(arguments: Mapping[str, Any], plan: Mapping[str, Any], index: int) -> dict[str, Any]:
    def part(value: Any) -> Any:
        if isinstance(value, Blob) and value.parts:
            return value.parts[index]
        if isinstance(value, list | tuple) and any(isinstance(item, Blob) for item in value):
            return [part(item) for item in value]
        return value

    return {
        name: plan[name][index] if name in plan else part(value)
        for name, value in arguments.items()
    }
