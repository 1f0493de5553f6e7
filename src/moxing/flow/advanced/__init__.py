"""`flow.advanced`: one blob for each device of the open placement scope, and back.

Blobs are logical, so that a part of a device is a blob like any other: an operation on it runs
where the job's scope says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import absent
from moxing.flow.trace import context, parallel, scopes
from moxing.flow.trace.blobs import Blob, tensor_of

_CLONE, _SPLIT = "flow.advanced.distribute_clone", "flow.advanced.distribute_split"
_CONCAT, _ADD = "flow.advanced.distribute_concat", "flow.advanced.distribute_add"


def distribute_clone(x: Blob, name: str | None = None) -> tuple[Blob, ...]:
    """The same values once for each device of the open placement scope."""
    tensor, own = tensor_of(x, _CLONE), context.op_name(name, "distribute_clone")
    return tuple(Blob(tf.identity(tensor, name=own), x.batch_axis) for _ in range(scopes.total()))


def distribute_split(x: Blob, axis: int = 0, name: str | None = None) -> tuple[Blob, ...]:
    """Successive parts along `axis`, one for each device; the first ones may have one row more.

    Raises:
        MoxValueError: the blob has no such axis, or the axis is shorter than the devices are many.
    """
    tensor, own = tensor_of(x, _SPLIT), context.op_name(name, "distribute_split")
    count, rank = scopes.total(), tensor.shape.rank
    if type(axis) is not int or not -rank <= axis < rank:
        raise MoxValueError(f"{_SPLIT}: axis={shown(axis)} is no axis of {x.static_shape}.")
    length = x.static_shape[axis]
    if length < count:
        raise MoxValueError(
            f"{_SPLIT}: {count} devices can't share axis {axis} of {x.static_shape}, which is"
            " shorter."
        )
    sizes, begin, parts = parallel.sizes(length, count), 0, []
    for size in sizes:
        place: list[Any] = [slice(None)] * rank
        place[axis] = slice(begin, begin + size)
        parts.append(Blob(tf.identity(tensor[tuple(place)], name=own), x.batch_axis))
        begin += size
    return tuple(parts)


def distribute_concat(xs: Sequence[Blob], axis: int = 0, name: str | None = None) -> Blob:
    """One blob of each device, concatenated along `axis`.

    Raises:
        MoxValueError: there is not one blob for each device of the open placement scope.
    """
    tensors = _of_devices(xs, _CONCAT)
    return Blob(tf.concat(tensors, axis, name=context.op_name(name, "distribute_concat")))


def distribute_add(xs: Sequence[Blob], name: str | None = None) -> Blob:
    """The sum of one blob of each device.

    Raises:
        MoxValueError: there is not one blob for each device of the open placement scope.
    """
    tensors = _of_devices(xs, _ADD)
    return Blob(tf.add_n(tensors, name=context.op_name(name, "distribute_add")))


def distribute_map(xs: Blob | Sequence[Blob], f: Callable[..., Any], axis: int = 0) -> Any:
    """Calls `f` with the part of each device, and concatenates the results along `axis`.

    Args:
        xs: a blob, or several, which are split along `axis`.
        f: gets a part of each blob; returns a blob, or several.
        axis: of the blobs and of the results.

    Returns:
        A blob if `f` returns one, else a tuple of blobs.

    Raises:
        MoxTypeError: `f` returns something else.
    """
    blobs = [xs] if isinstance(xs, Blob) else list(xs)
    parts = zip(*(distribute_split(blob, axis) for blob in blobs), strict=True)
    made = []
    for part, (machine, device) in zip(parts, _places(), strict=True):
        with scopes.entered(
            scopes.current_scope().default_device_tag, f"{machine}:{device}", scopes.machines()
        ):
            made.append(f(*part))
    if all(isinstance(item, Blob) for item in made):
        return distribute_concat(made, axis)
    if not all(
        isinstance(item, list | tuple) and all(isinstance(blob, Blob) for blob in item)
        for item in made
    ):
        raise MoxTypeError(
            f"flow.advanced.distribute_map: the function returned {shown(made[0])}; it returns a"
            " blob, or a list or tuple of blobs."
        )
    return tuple(distribute_concat(list(group), axis) for group in zip(*made, strict=True))


def _places() -> list[tuple[int, int]]:
    """The machine and the number of each device of the open placement scope."""
    listed = scopes.current_scope().machine_id2device_id_list
    return [(machine, device) for machine, ids in listed.items() for device in ids]


def _of_devices(xs: Sequence[Blob], operation: str) -> list[tf.Tensor]:
    context.enter_op(operation)
    count = scopes.total()
    if len(xs) != count:
        raise MoxValueError(
            f"{operation} takes one blob of each of the {count} devices of its placement scope, and"
            f" was given {len(xs)}."
        )
    return [tensor_of(x, operation) for x in xs]


__getattr__, __dir__ = absent.of("flow.advanced", globals())
