"""Operations of gradient accumulation, and assignments, under `flow.`.

A step works on all pieces of a batch: `unpack` cuts a batch, the operations on the pieces are made
once for each piece, and `pack` or `acc` combines the results. A loss in pieces counts as one loss
over all pieces, so that variables are updated once a step, by the gradient of the whole batch.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, parallel
from moxing.flow.trace.blobs import Blob, check, tensor_of


def unpack(input: Blob, unpack_num: int, name: str | None = None) -> Blob:
    """Cuts a batch along axis 0 into `unpack_num` pieces of one size.

    Args:
        input: a batch whose size `unpack_num` divides.
        unpack_num: how many pieces.
        name: the name of the operation.

    Returns:
        A blob of the shape of one piece.

    Raises:
        MoxValueError: the batch can't be cut into equal pieces.
    """
    tensor, own = tensor_of(input, "flow.unpack"), context.op_name(name, "unpack")
    size = tensor.shape[0]
    if type(unpack_num) is not int or unpack_num < 1 or (size is not None and size % unpack_num):
        raise MoxValueError(
            f"flow.unpack: unpack_num={shown(unpack_num)} does not divide the batch of {size}."
        )
    rows = tf.split(tensor, unpack_num, 0, name=own)
    return parallel.in_pieces(unpack_num, lambda index: Blob(tf.identity(rows[index])))


def _pieces(blob: Any, number: Any, operation: str, argument: str) -> list[tf.Tensor]:
    check(blob, operation)
    if not blob.unpacked or number != len(blob.parts):
        raise MoxValueError(
            f"{operation}: {argument}={shown(number)} goes with a blob that is computed from one"
            " that flow.unpack cut into as many pieces, and this blob has"
            f" {len(blob.parts) if blob.unpacked else 1}."
        )
    return [part.tensor for part in blob.parts]


def pack(input: Blob, pack_num: int, name: str | None = None) -> Blob:
    """The pieces, concatenated along axis 0.

    Raises:
        MoxValueError: there are not `pack_num` pieces.
    """
    pieces, own = _pieces(input, pack_num, "flow.pack", "pack_num"), context.op_name(name, "pack")
    return Blob(tf.concat(pieces, 0, name=own))


def acc(one: Blob, max_acc_num: int, name: str | None = None) -> Blob:
    """The sum of the pieces.

    Raises:
        MoxValueError: there are not `max_acc_num` pieces.
    """
    pieces, own = _pieces(one, max_acc_num, "flow.acc", "max_acc_num"), context.op_name(name, "acc")
    return Blob(tf.add_n(pieces, name=own), one.batch_axis)


def repeat(input: Blob, repeat_num: int, name: str | None = None) -> Blob:
    """The same blob for each of `repeat_num` pieces.

    Raises:
        MoxValueError: `repeat_num` is not a whole number of at least 1.
    """
    tensor, own = tensor_of(input, "flow.repeat"), context.op_name(name, "repeat")
    if type(repeat_num) is not int or repeat_num < 1:
        raise MoxValueError(f"flow.repeat: repeat_num={shown(repeat_num)} must be 1 or more.")
    return parallel.in_pieces(
        repeat_num, lambda index: Blob(tf.identity(tensor, name=own), input.batch_axis)
    )


def assign(ref: Blob, value: Blob, dtype: Any = None, name: str | None = None) -> None:
    """Assigns a value to a variable after the step's reads; the job returns the value from before.

    Args:
        ref: the result of `flow.get_variable`.
        value: has as many elements as the variable.
        dtype: without effect: the value gets the variable's type.
        name: the name of the operation.

    Raises:
        MoxTypeError: `ref` is no variable.
        MoxValueError: the value has another number of elements.
    """
    del dtype
    trace = context.enter_op("flow.assign")
    check(ref, "flow.assign")
    tensor, own = tensor_of(value, "flow.assign"), context.op_name(name, "assign")
    if ref.variable_name is None:
        raise MoxTypeError(f"flow.assign: {ref.location} is no variable of flow.get_variable.")
    if math.prod(value.static_shape) != math.prod(ref.static_shape):
        raise MoxValueError(
            f"flow.assign: variable {ref.variable_name!r} has shape {ref.static_shape}, and the"
            f" value {value.static_shape}."
        )
    shaped = tf.reshape(tf.cast(tensor, ref.dtype), ref.static_shape, name=own)
    trace.updates.append((ref.variable_name, shaped))


__all__ = ["acc", "assign", "pack", "repeat", "unpack"]
