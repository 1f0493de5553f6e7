"""Definitions of a job's inputs."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, lists, parallel, scopes
from moxing.flow.trace.blobs import Blob


@dataclass(frozen=True)
class InputDef:
    """A job's input: its shape, data type, and whether fewer elements may come."""

    shape: tuple[int, ...]
    dtype: tf.DType
    is_dynamic: bool = False
    mirrored: bool = False
    by_sample: bool = True  # Whether each device takes its part of axis 0.
    batch_axis: int | None = 0  # The axis of samples, which the program may read.
    listed: bool = False  # Whether each device gets a list of arrays.
    later: bool = False  # Whether it was defined by a name of December 2019 or later.

    def placeholders(self, name: str) -> list[tf.Tensor]:
        """Makes the placeholders: one, or for a mirrored input one for each device."""
        shape = [None] * len(self.shape) if self.is_dynamic else list(self.shape)
        count = scopes.total() if self.mirrored else 1
        if self.listed:
            return [tf.placeholder(tf.string, [None], f"input_{name}") for _ in range(count)]
        return [tf.placeholder(self.dtype, shape, name=f"input_{name}") for _ in range(count)]

    def blob(self, place: str, tensors: Sequence[tf.Tensor]) -> Blob:
        """Makes the job's blob from the placeholders: on several devices, in parts.

        Args:
            place: names the job and the argument, in errors.
            tensors: the placeholders.

        Raises:
            MoxNotSupportedError: a list of tensors would have to be sent to other machines.
        """
        count, exchange = scopes.total(), context.exchange()
        if self.listed:
            if exchange is not None:
                raise MoxNotSupportedError(
                    f"{place}: flow.MirroredTensorListDef is for the devices of one machine. Use"
                    " flow.MirroredTensorDef, or one machine."
                )
            return lists.TensorList(tensors, self.dtype, self.shape[1:], self.shape[0], False)
        if exchange is not None:
            tensors = [exchange.given(tensor, most=self.shape) for tensor in tensors]
        if len(tensors) > 1:
            first = scopes.first()
            own = tensors[first : first + len(scopes.active())]
            # The other machines' arrays must be sent, too.
            with tf.control_dependencies(tensors if exchange is not None else []):
                own = [tf.identity(tensor) for tensor in own]
            parts = [Blob(tensor, declared=self.shape, piece=True) for tensor in own]
            return Blob(None, self.batch_axis, parts=parts, mirrored=True)
        if count == 1 or self.is_dynamic or not self.by_sample or not self.shape:
            return Blob(tensors[0], self.batch_axis, declared=self.shape)
        if self.shape[0] < count:
            return Blob(tensors[0], self.batch_axis, declared=self.shape)
        return parallel.parted(tensors[0], count, self.batch_axis)

    def arrays(self, job: str, name: str, value: Any, count: int) -> list[np.ndarray]:
        """Returns the arrays to feed to `count` placeholders.

        Raises:
            MoxTypeError, MoxValueError: the value does not fit the definition.
        """
        if not self.mirrored or (count == 1 and not isinstance(value, list | tuple)):
            return [self.check(job, name, value)]
        if not isinstance(value, list | tuple) or len(value) != count:
            given = f"{len(value)}" if isinstance(value, list | tuple) else shown(value)
            raise MoxValueError(
                f"job {job}, argument {name}: a mirrored input takes a list of {count} arrays, one"
                f" for each device, not {given}."
            )
        given = self._list if self.listed else self.check
        return [given(job, f"{name}[{index}]", item) for index, item in enumerate(value)]

    def _list(self, job: str, name: str, value: Any) -> np.ndarray:
        """Returns the arrays of a device, as strings.

        Raises:
            MoxTypeError, MoxValueError: they do not fit the definition.
        """
        place, most = f"job {job}, argument {name}", self.shape[0]
        if not isinstance(value, list | tuple) or not 0 < len(value) <= most:
            count = f"{len(value)} arrays" if isinstance(value, list | tuple) else shown(value)
            raise MoxValueError(
                f"{place}: it takes a list of 1 to {most} arrays, as its definition {self.shape}"
                f" says, not {count}."
            )
        one = dataclasses.replace(self, shape=(1, *self.shape[1:]))
        arrays = [one.check(job, f"{name}[{index}]", item) for index, item in enumerate(value)]
        for index, array in enumerate(arrays):
            if array.shape[0] != 1:
                raise MoxValueError(
                    f"{place}[{index}]: the array has shape {array.shape}; its first size must be"
                    " 1: array[None]."
                )
        return lists.packed([array[0] for array in arrays])

    def check(self, job: str, name: str, value: Any) -> np.ndarray:
        """Returns a copy of the array to feed, as the caller may reuse its own meanwhile.

        Raises:
            MoxTypeError, MoxValueError: the value does not fit the definition.
        """
        place = f"job {job}, argument {name}"
        if not isinstance(value, np.ndarray):
            raise MoxTypeError(f"{place}: it takes a numpy array, not {shown(value)}.")
        if value.dtype != self.dtype.as_numpy_dtype:
            raise MoxTypeError(
                f"{place}: the array is {value.dtype}, and its definition {self.dtype.name}. Use"
                f" array.astype(np.{self.dtype.name})."
            )
        fits = value.shape == self.shape
        if self.is_dynamic:
            fits = value.ndim == len(self.shape) and value.size <= np.prod(self.shape)
        if not fits:
            word = " at most" if self.is_dynamic else ""
            raise MoxValueError(
                f"{place}: the array has shape {value.shape}, and its definition{word}"
                f" {self.shape}."
            )
        return np.array(value, order="C")


def named(name: str, default: Any) -> list[tuple[str, InputDef]] | None:
    """The definitions in an argument's default, with names such as `x` or `x[0]`, in order.

    Args:
        name: the name of the argument.
        default: a definition, or lists, tuples and dicts of definitions. For other defaults, None
            is returned.
    """
    if isinstance(default, InputDef):
        return [(name, default)]
    if not isinstance(default, list | tuple | dict) or not default:
        return None
    items = default.items() if isinstance(default, dict) else enumerate(default)
    found: list[tuple[str, InputDef]] = []
    for key, item in items:
        inner = named(f"{name}[{key!r}]", item)
        if inner is None:
            return None
        found += inner
    return found


def packed(default: Any, values: Iterator[Any]) -> Any:
    """Packs the next values in the structure of an argument's default."""
    if isinstance(default, InputDef):
        return next(values)
    if isinstance(default, dict):
        return {key: packed(item, values) for key, item in default.items()}
    return type(default)(packed(item, values) for item in default)


def values_of(place: str, default: Any, given: Any) -> list[Any]:
    """Returns a call's value for each definition of an argument, in the order of `named`.

    Raises:
        MoxTypeError, MoxValueError: the value has another structure than the default.
    """
    if isinstance(default, InputDef):
        return [given]
    kind = dict if isinstance(default, dict) else list | tuple
    if not isinstance(given, kind):
        word = "a dict" if isinstance(default, dict) else "a list"
        raise MoxTypeError(f"{place}: it takes {word} of arrays, not {shown(given)}.")
    if len(given) != len(default) or (isinstance(given, dict) and set(given) != set(default)):
        wanted = list(default) if isinstance(default, dict) else len(default)
        found = list(given) if isinstance(given, dict) else len(given)
        raise MoxValueError(f"{place}: it takes {wanted} arrays, and was given {found}.")
    keys = default if isinstance(default, dict) else range(len(default))
    return [
        value for key in keys for value in values_of(f"{place}[{key!r}]", default[key], given[key])
    ]


def input_blob_def(
    shape: Sequence[int],
    dtype: Any = tf.float32,
    is_dynamic: bool = False,
    batch_axis: int | None = 0,
    distribute: Any = None,
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape; with `is_dynamic`, of no more elements than that.

    On several devices each takes its part along axis 0, unless `batch_axis` is another axis or
    None, or `distribute` is `flow.distribute.broadcast()`, or the input is dynamic.
    """
    del name
    sizes, kind = _checked("an input", shape, dtype)
    axis = _batch_axis(batch_axis, len(sizes))
    split = axis == 0 and getattr(distribute, "kind", "") != "broadcast"
    return InputDef(sizes, kind, is_dynamic, by_sample=split, batch_axis=axis)


def _checked(what: str, shape: Any, dtype: Any) -> tuple[tuple[int, ...], tf.DType]:
    """Returns the shape and the data type of a definition.

    Raises:
        MoxValueError: the shape is none of whole numbers from 0.
        MoxTypeError: there is no such data type.
    """
    sizes = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else ("",)
    if not all(
        isinstance(size, numbers.Real) and float(size) >= 0 and float(size).is_integer()
        for size in sizes
    ):
        raise MoxValueError(
            f"the shape of {what} is {shown(shape)}; it takes whole numbers, as in (32, 3). For"
            " batches of several sizes, give the largest: flow.MirroredTensorDef, or"
            " flow.input_blob_def(shape, is_dynamic=True)."
        )
    try:
        kind = tf.as_dtype(dtype)
    except TypeError:
        raise MoxTypeError(
            f"the data type of {what} is {shown(dtype)}; it takes a type such as flow.float,"
            " flow.int32 or flow.double."
        ) from None
    return tuple(int(size) for size in sizes), kind


def _batch_axis(given: Any, rank: int) -> int | None:
    """Returns the axis of samples; None, and False in the first programs, mean no axis."""
    if given is None or given is False:
        return None
    if type(given) is not int or not -rank <= given < max(rank, 1):
        raise MoxValueError(
            f"batch_axis={shown(given)}: it is an axis of the {rank} of the shape, or None."
        )
    return given % rank if rank else given


def FixedTensorDef(  # noqa: N802
    shape: Sequence[int],
    dtype: Any = tf.float32,
    batch_axis: int | None = 0,
    split_axis: Any = "same_with_batch_axis",
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape, which devices share along axis 0 by default.

    Args:
        shape: the whole shape.
        dtype: the data type.
        batch_axis: axis of the samples, or None.
        split_axis: axis along which devices share the input; default: `batch_axis`.
        name: without effect.
    """
    del name
    given = input_blob_def(shape, dtype, batch_axis=batch_axis)
    split = given.by_sample
    if split_axis != "same_with_batch_axis":
        split = _batch_axis(split_axis, len(given.shape)) == 0
    return dataclasses.replace(given, by_sample=split, later=True)


def MirroredTensorDef(  # noqa: N802
    shape: Sequence[int], dtype: Any = tf.float32, batch_axis: int = 0, name: str | None = None
) -> InputDef:
    """A list of one array for each device, each of at most the elements of `shape`."""
    del name
    sizes, kind = _checked("a mirrored input", shape, dtype)
    axis = _batch_axis(batch_axis, len(sizes))
    return InputDef(sizes, kind, True, True, batch_axis=axis, later=True)


def MirroredTensorListDef(  # noqa: N802
    shape: Sequence[int], dtype: Any = tf.float32, batch_axis: int = 0, name: str | None = None
) -> InputDef:
    """For each device a list of arrays, each of a size of its own.

    Args:
        shape: the largest number of arrays on a device, then the sizes of an array that no array
            exceeds in its number of elements. An array has as many axes as the shape, the first of
            size 1.
        dtype: the data type of the arrays.
        batch_axis: without effect, as the arrays of a list have no common axis.
        name: without effect.

    Raises:
        MoxValueError: the shape has no axis, or there is no such `batch_axis`.
    """
    given = MirroredTensorDef(shape, dtype, batch_axis, name)
    if not given.shape:
        raise MoxValueError("flow.MirroredTensorListDef: shape=() names no number of arrays.")
    return dataclasses.replace(given, listed=True)
