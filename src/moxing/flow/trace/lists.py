"""Lists of tensors whose sizes differ: inputs in lists, and buffers of images or boxes.

TensorFlow has no tensor of tensors of any sizes that all of its operations take, so that the
tensors of a list are serialized, as strings in one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, shown
from moxing.flow.trace import context
from moxing.flow.trace.blobs import Blob

_MESSAGE = type(tf.make_tensor_proto(0))


def packed(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the arrays as strings that TensorFlow parses to tensors."""
    rows = [tf.make_tensor_proto(array).SerializeToString() for array in arrays]
    return np.array([*rows, None], dtype=object)[:-1]  # Else NumPy looks into the strings.


def unpacked(rows: np.ndarray) -> list[np.ndarray]:
    """Returns the arrays that strings of TensorFlow hold."""
    return [tf.make_ndarray(_MESSAGE.FromString(row)) for row in rows]


class TensorList(Blob):
    """A list of tensors, or a buffer of them; both are computed on the CPU.

    A tensor of a list has one axis more than the same tensor of a buffer: axis 0, of size 1. Here
    both are held without it.

    Attributes:
        items: for each device of this machine its tensors, serialized, of shape [n].
        kind: the data type of the tensors.
        limit: the largest shape of a tensor; None for a size without limit.
        count: the largest number of tensors on a device.
        buffered: whether the program sees a buffer, of shape (n,).
    """

    listed = True

    def __init__(
        self,
        items: Sequence[tf.Tensor],
        kind: tf.DType,
        limit: Sequence[int | None],
        count: int,
        buffered: bool = True,
    ) -> None:
        super().__init__(None, mirrored=True, piece=True)
        self.items, self.kind, self.count = tuple(items), kind, count
        self.limit, self.buffered = tuple(limit), buffered

    @property
    def tensor(self) -> tf.Tensor:
        """Raises an error: there is no tensor of them all."""
        raise MoxNotSupportedError(
            "a list of tensors has no tensor of its own: flow.image.batch_align makes a batch of"
            " images, and flow.tensor_list_split a blob of each tensor."
        )

    @property
    def own(self) -> tf.Tensor:
        return self.tensor

    @property
    def pieces(self) -> list[tf.Tensor]:
        return list(self.items)

    @property
    def first(self) -> tf.Tensor:
        return self.items[0]

    @property
    def is_dynamic(self) -> bool:
        return True

    @property
    def static_shape(self) -> tuple[Any, ...]:
        return (self.count,) if self.buffered else (self.count, *self.limit)

    shape = static_shape

    @property
    def dtype(self) -> tf.DType:
        return self.kind

    def with_distribute(self, distribute: Any) -> TensorList:
        del distribute
        return self

    def seen(self, buffered: bool, limit: Sequence[int | None] | None = None) -> TensorList:
        """The same tensors as a list or a buffer."""
        own = self.limit if limit is None else limit
        return TensorList(self.items, self.kind, own, self.count, buffered)

    def opened(self, row: tf.Tensor) -> tf.Tensor:
        """Returns the tensor that a string holds."""
        found = tf.io.parse_tensor(row, self.kind)
        found.set_shape([None] * len(self.limit))
        return found

    def of_each(
        self, function: Callable[..., Any], types: Any, others: Sequence[Blob] = ()
    ) -> list[Any]:
        """Returns for each device the stacked results of `function` for its tensors.

        Args:
            function: gets a tensor, and the row of each of the other blobs.
            types: the data types of the function's results.
            others: blobs with a row for each tensor.
        """

        def one(row: Sequence[tf.Tensor]) -> Any:
            return function(self.opened(row[0]), *row[1:])

        made = []
        for index, strings in enumerate(self.items):
            rows = [(blob.parts[index] if blob.parts else blob).tensor for blob in others]
            with tf.device("/cpu:0"):
                made.append(tf.map_fn(one, (strings, *rows), fn_output_signature=types))
        return made

    def changed(
        self,
        function: Callable[..., tf.Tensor],
        kind: tf.DType | None = None,
        limit: Sequence[int | None] | None = None,
        others: Sequence[Blob] = (),
    ) -> TensorList:
        """Returns the buffer of the function's results; for `others` see `of_each`."""

        def one(*given: tf.Tensor) -> tf.Tensor:
            return tf.io.serialize_tensor(function(*given))

        own = self.limit if limit is None else limit
        return TensorList(self.of_each(one, tf.string, others), kind or self.kind, own, self.count)


def on_devices(tensors: Sequence[tf.Tensor], declared: Sequence[int]) -> Blob:
    """The blob of a tensor of each device; mirrored if there are several."""
    if len(tensors) == 1:
        return Blob(tensors[0], declared=declared)
    parts = [Blob(tensor, declared=declared, piece=True) for tensor in tensors]
    return Blob(None, parts=parts, mirrored=True)


def require(value: Any, operation: str, rank: int | None = None) -> TensorList:
    """The list or buffer.

    Raises:
        MoxTypeError: it is something else, or its tensors have another number of axes.
    """
    job = context.enter_op(operation)
    if not isinstance(value, TensorList):
        raise MoxTypeError(
            f"{operation} takes tensors of an input with flow.MirroredTensorListDef, after"
            f" flow.tensor_list_to_tensor_buffer, not {shown(value)}."
        )
    context.check_owner(job, value, operation)
    if rank is not None and len(value.limit) != rank:
        raise MoxTypeError(
            f"{operation} takes tensors of {rank} axes, and those of {value.location} have"
            f" {len(value.limit)}."
        )
    return value
