"""Blobs: a job's values, each a tensor with the attributes that users of the API read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame
from moxing.errors import MoxNotSupportedError, MoxTypeError, shown
from moxing.flow.trace import context, layouts, scopes
from moxing.flow.trace.declared import Declared
from moxing.flow.trace.exchange import Exchange

TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
# The functions of Python's operators, filled by `register`: they are made from blobs, so this
# module can't import them.
_OPERATORS: dict[str, Callable[..., Any]] = {}


def register(name: str, function: Callable[..., Any]) -> None:
    """Gives blobs an operator: "binary", "negative" or "matmul"."""
    _OPERATORS[name] = function


class Blob:
    """A tensor of the job that is being traced.

    Attributes:
        tensor: the TensorFlow tensor; for a blob in parts, the whole tensor.
        parts: the part of each device of this machine, along axis 0; empty if the blob is in one
            piece.
        rows: for a blob in parts, the size along axis 0 of each device's part, on all machines.
        mirrored: whether its parts are blobs by themselves, each of a shape of its own.
        unpacked: whether its parts are successive pieces of a batch, and not parts of devices.
        batch_axis: axis of the samples, or None.
        distribute: its layout on several devices.
    """

    listed = False  # Whether it is a list of tensors of any sizes.
    # With this attribute numpy leaves `array + blob` to the blob.
    __array_priority__ = 1000
    __array_ufunc__ = None  # So that NumPy's numbers leave operators to the blob.

    def __init__(
        self,
        tensor: tf.Tensor | None,
        batch_axis: int | None = 0,
        distribute: Any = None,
        channels_last: tf.Tensor | None = None,
        declared: Sequence[int] | None = None,
        parts: Sequence[Blob] = (),
        mirrored: bool = False,
        piece: bool = False,
        rows: Sequence[int] = (),
    ) -> None:
        """Args: channels_last: the same values in NHWC, of which `tensor` is the transposition:
        convolutions and pools of a CPU work on it, so that no transposition lies between two of
        them. It belongs to no other blob. piece: it is no blob of the job, but a part of one. rows:
        needed if the parts of machines differ in size."""
        self._tensor = tensor
        self._own: tf.Tensor | None = None
        self.parts: tuple[Blob, ...] = tuple(parts)
        self.mirrored = mirrored
        self.unpacked = False
        self.batch_axis = batch_axis
        self.distribute = distribute
        self.channels_last = channels_last
        self._declared = tuple(declared) if declared is not None else None
        self._rows = tuple(rows)
        trace = context.current()
        self._sizes = trace.declared if trace is not None else Declared()
        if tensor is not None and self._declared is not None:
            self._sizes.add(tensor, self._declared)
        self._exchange: Exchange | None = context.exchange()
        self._alone = trace is None or trace.topology.devices * trace.topology.machines == 1
        self.job = trace.name if trace is not None else ""
        self._scope = scopes.current_scope() if trace is not None else None
        self.variable_name: str | None = None
        if trace is not None and not (piece or trace.in_part):
            trace.made.append(self)

    @property
    def tensor(self) -> tf.Tensor:
        """The whole tensor; a blob in parts is put together at the first read."""
        if self._tensor is None and self.mirrored:
            with tf.control_dependencies(None):
                self._tensor = tf.concat(self.pieces, 0)
        if self._tensor is None:
            self._tensor = self.own
            if self._exchange is not None:
                with tf.control_dependencies(None):
                    self._tensor = self.joined(self._tensor)
        return self._tensor

    def joined(self, own: tf.Tensor) -> tf.Tensor:
        """Concatenates tensors of all machines, each of the size of its machine's part."""
        exchange = self._exchange
        if exchange is None:
            return own
        here = len(self.parts)
        sizes = [sum(self.rows[i : i + here]) for i in range(0, len(self.rows), here)]
        return exchange.joined(own, 0, sizes)

    @property
    def rows(self) -> tuple[int, ...]:
        machines = self._exchange.size if self._exchange is not None else 1
        return self._rows or tuple(part.static_shape[0] for part in self.parts) * machines

    @property
    def pieces(self) -> list[tf.Tensor]:
        """The tensors of a mirrored blob on the devices of all machines."""
        own, exchange = [part.tensor for part in self.parts], self._exchange
        if exchange is None or self.unpacked:
            return own
        most = self.static_shape
        with tf.control_dependencies(None):
            return [exchange.given(t, giver, most) for giver in range(exchange.size) for t in own]

    @property
    def apart(self) -> bool:
        """Whether each device, and so each machine, has a part of the blob."""
        return bool(self.parts) and not self.unpacked

    @property
    def split_axis(self) -> int | None:
        """The axis that devices share: 0, also on one device; None if each device has the whole."""
        return 0 if self._alone or self.apart else None

    @property
    def is_dynamic(self) -> bool:
        """Whether its size may be another at each step."""
        return self.mirrored or None in self.first.shape.as_list()

    @property
    def own(self) -> tf.Tensor:
        """This machine's part of the blob: its devices' parts put together, or the whole."""
        if not self.parts:
            return self.tensor
        if self._own is None:
            tensors = [part.tensor for part in self.parts]
            with tf.control_dependencies(None), tf.device(tensors[0].device):
                self._own = tf.concat(tensors, 0, name="whole")
        return self._own

    @property
    def source(self) -> tf.Tensor:
        """The input of operations on the blob: its tensor, or the tensor's NHWC form."""
        return self.tensor if self.channels_last is None else self.channels_last

    def in_its_layout(self, gradient: tf.Tensor | None) -> tf.Tensor | None:
        """The gradient at the blob, computed from the gradient at its `source`."""
        if self.channels_last is None or gradient is None:
            return gradient
        return tf.transpose(gradient, TO_NCHW)

    @property
    def graph(self) -> tf.Graph:
        """The graph of the blob."""
        return self.first.graph

    @property
    def first(self) -> tf.Tensor:
        """The tensor; for a blob in parts, the first part's."""
        return (self.parts[0] if self.parts else self).tensor

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The whole shape, batch included; where the inputs are dynamic, as they declare it.

        For a mirrored blob it is the shape on one device.
        """
        if self.mirrored:
            return self.parts[0].static_shape
        if self.parts:
            return (sum(self.rows), *self.parts[0].static_shape[1:])
        return self._declared or self._sizes.of(self.tensor)

    shape = static_shape

    @property
    def dtype(self) -> tf.DType:
        """The data type, such as `flow.float`."""
        return self.first.dtype.base_dtype

    @property
    def logical_blob_name(self) -> str:
        """A name that no other blob of the session has; a variable's is the same in all jobs."""
        if self.variable_name is not None:
            return f"{self.variable_name}/out"
        index = self.first.value_index
        return f"{self.first.op.name}/out{f'_{index}' * bool(index)}"

    @property
    def op_name(self) -> str:
        """The name of the operation that made the blob, or of its variable, without the job's."""
        return self.logical_blob_name.split("/")[-2]

    @property
    def parallel_conf(self) -> scopes.ParallelConf:
        """The devices on which the blob was made: `device_name`, a list such as `["0:gpu:0-3"]`."""
        return (self._scope or scopes.current_scope()).parallel_conf

    @property
    def parallel_size(self) -> int:
        """The number of those devices."""
        return (self._scope or scopes.current_scope()).parallel_size

    @property
    def location(self) -> str:
        """The blob's operation, and the user's line that made it: `'relu_0' (train.py:12)`."""
        return blame.place(self.first.op)

    def with_distribute(self, distribute: Any) -> Blob:
        """The same values; with several devices, in another layout."""
        same = Blob(
            self._tensor,
            self.batch_axis,
            distribute,
            self.channels_last,
            self._declared,
            self.parts,
            self.mirrored,
            rows=self._rows,
        )
        same.variable_name = self.variable_name
        return same

    def with_gradient_distribute(self, distribute: Any) -> Blob:
        """The same values; where there is one device gradients lie in one place."""
        del distribute
        return self

    def with_split_distribute(self, axis: int) -> Blob:
        """The same values; with several devices, split along `axis`."""
        return self.with_distribute(layouts.split(axis))

    def with_broadcast_distribute(self) -> Blob:
        """The same values, whole on each device."""
        return self.with_distribute(layouts.broadcast())

    def _binary(self, other: Any, function: Any, swapped: bool = False) -> Blob:
        return _OPERATORS["binary"](self, other, function, swapped)

    def __add__(self, other: Any) -> Blob:
        return self._binary(other, tf.add)

    def __radd__(self, other: Any) -> Blob:
        return self._binary(other, tf.add, swapped=True)

    def __sub__(self, other: Any) -> Blob:
        return self._binary(other, tf.subtract)

    def __rsub__(self, other: Any) -> Blob:
        return self._binary(other, tf.subtract, swapped=True)

    def __mul__(self, other: Any) -> Blob:
        return self._binary(other, tf.multiply)

    def __rmul__(self, other: Any) -> Blob:
        return self._binary(other, tf.multiply, swapped=True)

    def __truediv__(self, other: Any) -> Blob:
        return self._binary(other, quotient)

    def __rtruediv__(self, other: Any) -> Blob:
        return self._binary(other, quotient, swapped=True)

    def __pow__(self, other: Any) -> Blob:
        return self._binary(other, tf.pow)

    def __rpow__(self, other: Any) -> Blob:
        return self._binary(other, tf.pow, swapped=True)

    def __mod__(self, other: Any) -> Blob:
        return self._binary(other, tf.floormod)

    def __rmod__(self, other: Any) -> Blob:
        return self._binary(other, tf.floormod, swapped=True)

    def __matmul__(self, other: Any) -> Blob:
        return _OPERATORS["matmul"](self, other)

    def _compared(self, other: Any, function: Any) -> Any:
        # Python itself compares a blob with other objects, such as None: by identity.
        if not isinstance(other, Blob | bool | int | float | np.number | np.ndarray):
            return NotImplemented
        return self._binary(other, function)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, tf.equal)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, tf.not_equal)

    # In sets and dicts, a blob is equal only to itself, despite elementwise comparisons.
    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Blob:
        return self._compared(other, tf.less)

    def __le__(self, other: Any) -> Blob:
        return self._compared(other, tf.less_equal)

    def __gt__(self, other: Any) -> Blob:
        return self._compared(other, tf.greater)

    def __ge__(self, other: Any) -> Blob:
        return self._compared(other, tf.greater_equal)

    def __getitem__(self, key: Any) -> Any:
        raise MoxNotSupportedError(
            f"a blob has no elements to take with [{shown(key)}]: use flow.slice or flow.gather."
        )

    def __iter__(self) -> Any:
        raise MoxNotSupportedError(
            "a blob can't be unpacked or looped over while the job is traced: use flow.slice or"
            " flow.gather."
        )

    def __neg__(self) -> Blob:
        return _OPERATORS["negative"](self)

    def __bool__(self) -> bool:
        raise MoxTypeError(
            "a blob has no truth value while the job is traced, and a comparison of blobs is a"
            " blob: its values come with .get(). Compare shapes, or use `is` to ask whether two are"
            " one."
        )

    def _no_values(self, *_: Any, **__: Any) -> NoReturn:
        raise MoxTypeError(
            f"blob {self} has no values while the job is traced: NumPy, TensorFlow and Python's"
            " numbers can't take it. Compute with flow.math and flow.nn; after the step, with the"
            " arrays of .get()."
        )

    __array__ = __tf_tensor__ = __float__ = __int__ = _no_values

    def __repr__(self) -> str:
        return f"<Blob {self.logical_blob_name} shape={self.static_shape} {self.dtype.name}>"


def tensor_of(value: Any, operation: str) -> tf.Tensor:
    """Returns the tensor of a blob; checks that the blob belongs to the job being traced.

    Raises:
        MoxTypeError: the value is no blob.
        MoxRuntimeError: no job is being traced, or another one.
        MoxNotSupportedError: the blob is mirrored, and the operation does not run once per device.
    """
    check(value, operation)
    if value.unpacked:
        raise MoxNotSupportedError(
            f"{operation} takes no blob in pieces of flow.unpack: it would mix the pieces. Put them"
            " together with flow.pack or flow.acc first."
        )
    if value.listed:
        raise MoxNotSupportedError(
            f"{operation} takes no list of tensors: flow.image.batch_align makes a batch of images,"
            " and flow.tensor_list_split a blob of each tensor."
        )
    if value.mirrored:
        raise MoxNotSupportedError(
            f"{operation} takes no mirrored blob: it would mix the devices' values. Compute it in"
            " a job with FixedTensorDef."
        )
    return value.tensor


def quotient(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """x / y; for integers an integer, rounded toward 0."""
    return tf.truncatediv(x, y) if x.dtype.is_integer else tf.divide(x, y)


def number(value: Any, like: Blob, operation: str) -> tf.Tensor:
    """Converts a user's number or array to the type of a blob.

    Raises:
        MoxTypeError: the blob has integers, and the value is not an integer.
    """
    if like.dtype.is_integer and not np.all(np.equal(value, np.trunc(value))):
        raise MoxTypeError(
            f"{operation}: {shown(value)} is no whole number, and the blob is {like.dtype.name}."
            " Make it flow.cast(blob, flow.float) first."
        )
    return tf.cast(value, like.dtype)


def check(value: Any, operation: str) -> None:
    """Raises as `tensor_of` does; does not put a blob's parts together."""
    job = context.enter_op(operation)
    if not isinstance(value, Blob):
        raise MoxTypeError(f"{operation} takes blobs, and was given {shown(value)}.")
    context.check_owner(job, value, operation)
