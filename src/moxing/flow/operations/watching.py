"""`flow.watch` and `flow.watch_diff`: functions that get values and gradients of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, shown
from moxing.flow.trace import context, spelling
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.shards import SplitBlob
from moxing.flow.trace.variables import require_blob, require_train

_named = spelling.also(watched="blob_watched", handler="handler_or_prompt")


@dataclass(frozen=True)
class BlobDefinition:
    """The attributes of a watched blob, for the functions that get its arrays.

    Attributes:
        logical_blob_name: the blob's name.
        static_shape: the whole shape, batch included.
        dtype: the data type, such as `flow.float`.
        batch_axis: axis of the samples, or None.
        distribute: the blob's layout on several devices.
        location: its operation, and the line of the program that made it.
    """

    logical_blob_name: str
    static_shape: tuple[int, ...]
    dtype: tf.DType
    batch_axis: int | None
    distribute: Any
    location: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return self.static_shape


def _handler(given: Any, blob: Blob) -> Callable[[Any], Any]:
    if callable(given):
        return given
    if given is not None and not isinstance(given, str):
        raise MoxTypeError(
            f"flow.watch takes a function, or a text to print before values, not {shown(given)}."
        )
    prompt = given if isinstance(given, str) else blob.logical_blob_name
    return lambda value: print(f"{prompt}: {value}", flush=True)


@_named
def watch(blob_watched: Blob | Sequence[Blob], handler_or_prompt: Any = None) -> None:
    """Calls a function with the blob's array at each step, or prints it after a prompt.

    The function gets the arrays of a list of blobs as so many arguments.
    """
    trace = context.enter_op("flow.watch")
    _watch(trace, blob_watched, handler_or_prompt, "flow.watch", of_gradient=False)


@_named
def watch_diff(blob_watched: Blob | Sequence[Blob], handler_or_prompt: Any = None) -> None:
    """Calls a function with the gradient of the loss at the blob, at each step of a train job.

    The function gets the gradients at a list of blobs as so many arguments.
    """
    trace = context.enter_op("flow.watch_diff")
    require_train(trace, "flow.watch_diff")
    _watch(trace, blob_watched, handler_or_prompt, "flow.watch_diff", of_gradient=True)


def _watch(trace: context.Trace, watched: Any, given: Any, name: str, of_gradient: bool) -> None:
    if not isinstance(watched, list | tuple):
        blob = require_blob(watched, name)
        trace.watches.append(context.Watch(blob, _handler(given, blob), of_gradient))
        return
    blobs = [require_blob(each, name) for each in watched]
    together = _Together(given, len(blobs)) if callable(given) else None
    for place, blob in enumerate(blobs):
        handler = together.take(place) if together else _handler(given, blob)
        trace.watches.append(context.Watch(blob, handler, of_gradient))


class _Together:
    """Collects the arrays of several blobs at a step, and calls a function with all of them."""

    def __init__(self, function: Callable[..., Any], count: int) -> None:
        self._function, self._count = function, count
        self._arrays: dict[int, Any] = {}

    def take(self, place: int) -> Callable[[Any], None]:
        """Returns the function that gets the arrays of one of the blobs."""

        def put(array: Any) -> None:
            self._arrays[place] = array
            if len(self._arrays) == self._count:
                arrays = [self._arrays[index] for index in range(self._count)]
                self._arrays.clear()
                self._function(*arrays)

        return put


@contextmanager
def watch_scope(blob_watcher: Any = None, diff_blob_watcher: Any = None) -> Iterator[None]:
    """Watches every blob that is made inside: results of operations, and variables' first reads.

    Args:
        blob_watcher: a dict that gets `name -> {"blob": array, "blob_def": blob}` at each step, or
            a function of the array and the blob. The name is the blob's `logical_blob_name`; for a
            variable it is `<variable>/out`.
        diff_blob_watcher: the same for gradients in train jobs, at blobs on which the losses depend
            and at variables that the job trains.
    """
    trace = context.required("flow.watch_scope")
    before = len(trace.made)
    yield
    for blob in _distinct(trace.made[before:]):
        if blob_watcher is not None:
            watch(blob, _into(blob_watcher, blob))
        if diff_blob_watcher is not None and _has_gradient(trace, blob):
            handler = _into(diff_blob_watcher, blob)
            trace.watches.append(context.Watch(blob, handler, of_gradient=True, optional=True))


def _distinct(made: Sequence[Blob]) -> list[Blob]:
    """Returns the blobs without parts of other blobs, and without blobs of the same tensor."""
    pieces, found = {id(part) for blob in made for part in blob.parts}, {}
    for blob in made:
        if id(blob) not in pieces:
            found.setdefault(id(blob.first), blob)
    return list(found.values())


def _has_gradient(trace: context.Trace, blob: Blob) -> bool:
    """Whether the losses may have a gradient at this blob that is one tensor, and not in parts."""
    if not trace.conf.is_train or not blob.dtype.is_floating or isinstance(blob, SplitBlob):
        return False
    return blob.variable_name is None or trace.trainable[blob.variable_name]


def _into(target: Any, blob: Blob) -> Callable[[Any], None]:
    shown = BlobDefinition(
        *(blob.logical_blob_name, blob.static_shape, blob.dtype, blob.batch_axis),
        *(blob.distribute, blob.location),
    )

    def put(value: Any) -> None:
        if callable(target):
            target(value, shown)
        else:
            target[shown.logical_blob_name] = {"blob": value, "blob_def": shown}

    return put
