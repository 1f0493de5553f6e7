"""Runs an operation on each device's part of its blobs, if that gives the whole's result.

Blobs of this API are logical: a job's code sees the shape of the whole batch, and runs once. On
several devices a blob of samples is held as one part a device, along axis 0. An operation that
treats samples alike (see `rules`) is made once for each device; any other operation takes its blobs
whole. Either way the values are the same as on one device. With several machines a graph holds the
parts of its own machine's devices, and whole blobs are computed on every machine alike.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import tensorflow.compat.v1 as tf

from moxing.errors import MoxError, MoxValueError
from moxing.flow.trace import context, scopes
from moxing.flow.trace.blobs import Blob

# Replacements of an operation's arguments, by name, one for each device; None if the operation
# needs its blobs whole.
Plan = Mapping[str, Sequence[Any]] | None
Rule = Callable[[Mapping[str, Any], int], Plan]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def by_sample(rule: Rule) -> Callable[[_Function], _Function]:
    """Makes an operation run on each device's part, if `rule` says that it can.

    Args:
        rule: gets the arguments by name, and the number of devices.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _explained(function.__name__, (*args, *kwargs.values())):
                return made_of(args, kwargs)

        def made_of(args: Any, kwargs: Any) -> Any:
            count = _parts(args) or _parts(kwargs.values())
            unpacked = _pieces((*args, *kwargs.values()))
            if not unpacked and (not count or context.current() is None or not fits(count)):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if unpacked:
                return in_pieces(unpacked, lambda index: function(**_piece(bound.arguments, index)))
            if _any_mirrored(bound.arguments.values()):
                made = each(count, lambda index: function(**_local(bound.arguments, {}, index)))
                made.mirrored = True
                return made
            plan = rule(bound.arguments, scopes.total())
            if plan is None:
                return function(*args, **kwargs)
            source = _first_in_parts(bound.arguments.values())
            return each(
                count, lambda index: function(**_local(bound.arguments, plan, index)), source
            )

        return call  # type: ignore[return-value]

    return decorate


@contextmanager
def _explained(name: str, values: Sequence[Any]) -> Iterator[None]:
    """Adds the blobs' names to an error of TensorFlow about an operation."""
    try:
        yield
    except MoxError:
        raise
    except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        if context.current() is None:
            raise
        items = [i for v in values for i in (v if isinstance(v, list | tuple) else [v])]
        blobs = [item for item in items if isinstance(item, Blob)]
        shapes = ", ".join(f"{blob.static_shape} {blob.dtype.name}" for blob in blobs)
        reason = str(error).partition("\n")[0].partition(" for '{{node")[0].rstrip(".")
        told = "an operator of Python" if name == "binary" else name.strip("_")
        raise MoxValueError(
            f"{told} can't be made of {shapes or 'its arguments'}: {reason}."
        ) from error


def fits(count: int) -> bool:
    """Whether blobs of `count` parts fit the devices of the current scope."""
    return scopes.spread() and count == len(scopes.active())


def each(count: int, make: Callable[[int], Blob], source: Blob | None = None) -> Blob:
    """Returns the blob whose parts `make` makes, each on its device.

    Args:
        count: the number of this machine's devices.
        make: gets the number of a device, on this machine.
        source: a blob in parts whose samples the parts are made of; needed if its parts may differ
            in size.
    """
    trace = context.required("an operation")
    before, parts, outer = set(trace.names), [], trace.in_part
    for index in range(count):
        # All parts may have the same name from the user.
        trace.names, trace.in_part = set(before), True
        with on(index):
            parts.append(make(index))
    trace.in_part = outer
    rows = () if source is None else _rows_of(parts[0], source)
    return Blob(None, parts[0].batch_axis, parts[0].distribute, parts=parts, rows=rows)


def _rows_of(part: Blob, source: Blob) -> tuple[int, ...]:
    """The sizes of all parts of a blob, given its first part here and the blob it is made of.

    An operation makes the same number of rows of each row.
    """
    before, after = source.parts[0].static_shape[:1], part.static_shape[:1]
    if source.mirrored or not after or None in (*before, *after):
        return ()
    return tuple(size * after[0] // before[0] for size in source.rows)


def in_pieces(count: int, make: Callable[[int], Blob]) -> Blob:
    """Returns the blob whose parts `make` makes, one for each piece of the batch, on one device."""
    trace = context.required("an operation")
    before, parts, outer = set(trace.names), [], trace.in_part
    for index in range(count):
        # All pieces may have the same name from the user.
        trace.names, trace.in_part = set(before), True
        parts.append(make(index))
    trace.in_part = outer
    result = Blob(None, parts[0].batch_axis, parts[0].distribute, parts=parts, mirrored=True)
    result.unpacked = True
    return result


def in_batches(read: Blob) -> Blob:
    """Cuts what a source read for all batches of a step into one piece a batch.

    Args:
        read: with `num_gradient_accumulation_steps` the samples of that many batches. Each of
            several devices has successive samples of its own, of which each batch gets a share.
    """
    count = context.required("a source").conf.batches
    if count == 1:
        return read
    tensor, devices = read.tensor, scopes.total()
    rows, rest = read.static_shape[0] // (count * devices), read.static_shape[1:]
    sorted_ = tf.reshape(tensor, [devices, count, rows, *rest])
    return in_pieces(
        count, lambda index: Blob(tf.reshape(sorted_[:, index], [devices * rows, *rest]))
    )


@contextmanager
def on(index: int) -> Iterator[None]:
    """Operations inside are made on the device of that index."""
    outer = tf.get_default_graph().get_name_scope()
    inner = f"{outer}/device{index}/" if outer else f"device{index}/"
    with tf.device(scopes.active()[index]):
        if index == 0:  # The first device's names are the same as with one device.
            yield
            return
        with tf.name_scope(inner):
            yield


def draws_alike() -> bool:
    """Whether random values that an operation draws must be the same on all machines."""
    return context.exchange() is not None and not context.required("an operation").in_part


def alike(drawn: Blob) -> Blob:
    """Returns random values; the first machine's if all machines must have the same."""
    exchange = context.exchange()
    if exchange is None or not draws_alike():
        return drawn
    return Blob(exchange.given(drawn.tensor), drawn.batch_axis)


def sizes(length: int, count: int) -> list[int]:
    """How many samples each of `count` devices takes; the first ones may take one more."""
    size, more = divmod(length, count)
    return [size + (index < more) for index in range(count)]


def parted(tensor: tf.Tensor, count: int, batch_axis: int | None = 0) -> Blob:
    """Returns the blob of a tensor that `count` devices share along axis 0."""
    rows = sizes(int(tensor.shape[0]), count)
    return Blob(None, batch_axis, parts=split(tensor, count, rows), rows=rows)


def split(tensor: tf.Tensor, count: int, rows: Sequence[int]) -> list[Blob]:
    """Splits a tensor into `count` parts along axis 0; returns those of this machine's devices.

    Args:
        tensor: the whole.
        count: the number of devices on all machines.
        rows: the size of each part; for a tensor of unknown size, parts of one size are made.
    """
    begin, own, length = scopes.first(), len(scopes.active()), tensor.shape[0]
    if length is None:
        size = tf.shape(tensor)[0] // count
        bounds = [index * size for index in range(count + 1)]
    else:
        bounds = [0, *itertools.accumulate(rows)]
    # tf.split is not used: TensorFlow 2.21 fuses a scaled matrix product with the tensor that is
    # added to it, and takes the first output of an operation with several, whichever was meant.
    with tf.device("/cpu:0"):
        slices = [tensor[bounds[i] : bounds[i + 1]] for i in range(begin, begin + own)]
        return [Blob(part, piece=True) for part in slices]


def share(batch: int, what: str) -> int:
    """How many samples of a batch each device takes.

    Args:
        batch: samples on all devices together.
        what: names the owner of the batch in an error.

    Raises:
        MoxValueError: the samples can't be shared evenly.
    """
    count, machines = scopes.total(), scopes.machines()
    if batch % count:
        where = f"gpu_device_num on {machines} machines" if machines > 1 else "gpu_device_num"
        raise MoxValueError(
            f"{what}: a batch of {batch} can't be shared evenly by {count} devices"
            f" ({where}). Use a multiple of {count}, or another number of devices."
        )
    return batch // count


def _parts(values: Any) -> int:
    """The number of parts of the blobs among the arguments; 0 if all are whole."""
    found = _first_in_parts(values)
    return 0 if found is None else len(found.parts)


def _first_in_parts(values: Any) -> Blob | None:
    """The first blob in parts among the arguments."""
    for value in values:
        if isinstance(value, Blob):
            if value.parts:
                return value
        elif isinstance(value, list | tuple) and (found := _first_in_parts(value)) is not None:
            return found
    return None


def _pieces(values: Any) -> int:
    """Into how many pieces blobs among the arguments were unpacked; 0 if none was.

    Raises:
        MoxValueError: blobs were unpacked into different numbers of pieces.
    """
    found: set[int] = set()
    for value in values:
        if isinstance(value, Blob) and value.unpacked:
            found.add(len(value.parts))
        elif isinstance(value, list | tuple):
            found |= {_pieces(value)} - {0}
    if len(found) > 1:
        raise MoxValueError(
            f"blobs that flow.unpack cut into {' and '.join(map(str, sorted(found)))} pieces can't"
            " go into one operation."
        )
    return found.pop() if found else 0


def _piece(arguments: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The arguments for one piece: a part of each unpacked blob, and other arguments whole."""

    def part(value: Any) -> Any:
        if isinstance(value, Blob):
            return value.parts[index] if value.unpacked else value
        if isinstance(value, list | tuple) and any(isinstance(item, Blob) for item in value):
            return [part(item) for item in value]
        return value

    return {name: part(value) for name, value in arguments.items()}


def _any_mirrored(values: Any) -> bool:
    return any(
        value.mirrored
        if isinstance(value, Blob)
        else isinstance(value, list | tuple) and _any_mirrored(value)
        for value in values
    )


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
