"""Variables split along an axis, a part for each device: `distribute=flow.distribute.split(axis)`.

An operation that needs the whole variable gets its parts concatenated. A matrix product whose
columns are split is computed in parts, each on the device that has the columns, and so is the
update of a part. Then no device holds more than its part of the variable, of its gradient and of
its optimizer's state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, parallel, scopes
from moxing.flow.trace.blobs import Blob, tensor_of
from moxing.flow.trace.layouts import Distribute


class Split:
    """A variable in parts.

    Attributes:
        shape, dtype: shape and type of the whole variable.
        axis: along which it is split.
        sizes: the parts' sizes on all machines, along the axis; the first parts may be larger by
            one.
        first: the number of this machine's first part.
        exchange: the collectives that join the machines' parts; None if all parts are on this
            machine.
        parts: this machine's parts.
        initial: the initial value of the whole variable.
    """

    def __init__(
        self,
        shape: Sequence[int],
        axis: int,
        count: int,
        make: Callable[[Sequence[int], int], tf.Variable],
        initial: tf.Tensor,
        like: Split | None = None,
    ) -> None:
        """Args: count: of parts. make: a part of that shape and number. like: whose devices."""
        self.shape, self.dtype, self.axis = tf.TensorShape(shape), initial.dtype, axis
        size, more = divmod(shape[axis], count)
        self.sizes = [size + (index < more) for index in range(count)]
        self.devices = like.devices if like else scopes.active()
        self.first = like.first if like else scopes.first()
        self.exchange = context.exchange()
        self.initial, self.parts = initial, []
        for index, device in enumerate(self.devices):
            own = [*shape[:axis], self.sizes[self.first + index], *shape[axis + 1 :]]
            with tf.device(device):
                self.parts.append(make(own, index))

    @property
    def of_machines(self) -> list[int]:
        """The size of each machine's parts along the axis."""
        own = len(self.parts)
        return [sum(self.sizes[at : at + own]) for at in range(0, len(self.sizes), own)]

    def assign(self, value: tf.Tensor) -> tf.Operation:
        """Gives the parts of this machine their share of a whole value."""
        pieces = tf.split(value, self.sizes, self.axis)[self.first :]
        pairs = zip(self.parts, pieces, strict=False)
        return tf.group(*(part.assign(piece).op for part, piece in pairs))

    def joined(self, parts: Sequence[tf.Tensor], axis: int) -> tf.Tensor:
        """Concatenates the tensors of this machine's devices and of the other machines."""
        with tf.device(self.devices[0]):
            own = tf.concat(list(parts), axis)
            if self.exchange is None or len(self.parts) == len(self.sizes):
                return own
            return self.exchange.joined(own, axis, self.of_machines)


class SplitBlob(Blob):
    """The blob of a variable in parts."""

    def __init__(self, variable: Split, distribute: Any) -> None:
        self.variable, self.reads = variable, [part.read_value() for part in variable.parts]
        super().__init__(None, None, distribute)

    @property
    def tensor(self) -> tf.Tensor:
        """The whole tensor, put together at the first read."""
        if self._tensor is None:
            with tf.control_dependencies(None):
                self._tensor = self.variable.joined(self.reads, self.variable.axis)
        return self._tensor

    @property
    def own(self) -> tf.Tensor:
        return self.tensor

    @property
    def source(self) -> tf.Tensor:
        """Raises an error: the gradient is in parts, too."""
        raise MoxNotSupportedError(
            "flow.watch_diff sees no gradient of a variable with distribute=split. Leave distribute"
            " out to watch it."
        )

    @property
    def first(self) -> tf.Tensor:
        return self.reads[0]

    @property
    def static_shape(self) -> tuple[int, ...]:
        return tuple(self.variable.shape.as_list())

    shape = static_shape

    @property
    def dtype(self) -> tf.DType:
        return self.variable.dtype.base_dtype

    def with_distribute(self, distribute: Any) -> Blob:
        del distribute
        return self


def axis_of(distribute: Any, name: str, shape: Sequence[int]) -> int | None:
    """The axis along which a variable is split; None if each device reads the whole.

    Raises:
        MoxValueError: the variable has no such axis, or fewer elements along it than devices.
    """
    count = scopes.total()
    if distribute is not None and not isinstance(distribute, Distribute):
        raise MoxTypeError(
            f"variable {name!r}: distribute={shown(distribute)} is no layout; give"
            " flow.distribute.split(axis) or flow.distribute.broadcast()."
        )
    if distribute is None or distribute.kind != "split":
        return None
    axis = distribute.axis
    assert axis is not None
    if count == 1 and axis < len(shape):
        return None
    if axis >= len(shape) or shape[axis] < count:
        raise MoxValueError(
            f"variable {name!r} of shape {tuple(shape)} can't be split along axis {axis} over"
            f" {count} devices: each needs one element of it at least."
        )
    return axis


def by_columns(function: Callable[..., Blob]) -> Callable[..., Blob]:
    """Makes a matrix product in parts if `b` is a variable whose columns are split."""

    @functools.wraps(function)
    def call(
        a: Any,
        b: Any,
        transpose_a: bool = False,
        transpose_b: bool = False,
        name: str | None = None,
    ) -> Blob:
        split = isinstance(b, SplitBlob) and isinstance(a, Blob) and not a.mirrored
        if (
            not split
            or transpose_a
            or len(a.static_shape) != 2
            or len(b.static_shape) != 2
            or b.variable.axis != (0 if transpose_b else 1)
            or b.variable.devices != scopes.active()
        ):
            return function(a, b, transpose_a, transpose_b, name)
        return _product(a, b, transpose_b, name)

    return call


def _product(a: Blob, b: SplitBlob, transpose_b: bool, name: str | None) -> Blob:
    rows, own = tensor_of(a, "flow.matmul"), context.op_name(name, "matmul")
    columns = []
    for index, read in enumerate(b.reads):
        with parallel.on(index):
            columns.append(tf.matmul(rows, read, False, transpose_b, name=own))
    result, count = b.variable.joined(columns, 1), scopes.total()
    if not scopes.spread() or result.shape[0] is None or result.shape[0] < count:
        return Blob(result)
    return parallel.parted(result, count)


def norm(parts: Sequence[tf.Tensor], variable: Split) -> tf.Tensor:
    """The Euclidean norm of a whole tensor, given its parts."""
    squares = tf.add_n([tf.reduce_sum(tf.square(part)) for part in parts])
    if variable.exchange is not None and len(variable.parts) < len(variable.sizes):
        squares = variable.exchange.total(squares)
    return tf.sqrt(squares)
