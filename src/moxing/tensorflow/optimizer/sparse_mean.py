"""Averages mostly zero tensors over processes, and sends only selected elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.self_exchange import Exchange
from moxing.errors import MoxNotSupportedError

_MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Elements:
    """Selected elements of a tensor of this process.

    Attributes:
        shape: the static shape of the tensor.
        places: the indices of the elements in the flat tensor, int32 of shape [n], without
            duplicates.
        values: the values of the elements, of shape [n].
        room: the maximum number of elements in a message, for each case; n does not exceed it.
    """

    shape: tf.TensorShape
    places: tf.Tensor
    values: tf.Tensor
    room: Sequence[int]


def choose(tensor: tf.Tensor, mask: tf.Tensor, room: Sequence[int], case: tf.Tensor) -> Elements:
    """Selects the elements where a mask is True, up to the room in the message."""
    places = tf.where(tf.reshape(mask, [-1]))[:, 0][: tf.gather(list(room), case)]
    values = tf.gather(tf.reshape(tensor, [-1]), places)
    return Elements(tensor.shape, tf.cast(places, tf.int32), values, room)


def without(tensor: tf.Tensor, elements: Elements) -> tf.Tensor:
    """Returns the tensor with the selected elements set to zero."""
    zeros = tf.zeros_like(elements.values)
    flat = tf.reshape(tensor, [-1])
    left = tf.tensor_scatter_nd_update(flat, elements.places[:, tf.newaxis], zeros)
    return tf.reshape(left, tensor.shape)


def sparse_means(
    exchange: Exchange, tensors: Sequence[Elements], case: tf.Tensor
) -> list[tf.Tensor]:
    """Returns the mean of each tensor over all processes, with unselected elements as 0.

    All tensors share one message, whose size depends only on `room`.

    Args:
        exchange: the exchange with the other processes.
        tensors: the elements, sent as float32; equal in all processes except for places and values.
        case: the index into `room`, an int32 scalar; the same in all processes.

    Returns:
        Dense tensors, bitwise equal in all processes.

    Raises:
        MoxNotSupportedError: there are too many elements for 32-bit indices.
    """
    sizes = [math.prod(one.shape.as_list()) for one in tensors]
    if sum(sizes) > _MOST:
        raise MoxNotSupportedError(
            f"{sum(sizes)} gradients can't be exchanged sparsely; {_MOST} is the most."
        )
    places, values = [], []
    for one, begin in zip(tensors, _begins(sizes), strict=True):
        spare = [[0, tf.gather(list(one.room), case) - tf.size(one.places)]]
        places.append(tf.pad(one.places + begin, spare))
        values.append(tf.pad(tf.cast(one.values, tf.float32), spare))
    # Unused room in a message adds zeros to the first element.
    message = tf.stack([tf.bitcast(tf.concat(places, 0), tf.float32), tf.concat(values, 0)])
    received = exchange.gathered(message, case, len(tensors[0].room))
    total = tf.zeros([sum(sizes)])
    for process in range(exchange.size):  # All processes add in the same order.
        where = tf.bitcast(received[process, 0], tf.int32)[:, tf.newaxis]
        total = tf.tensor_scatter_nd_add(total, where, received[process, 1])
    parts = tf.split(total / exchange.size, sizes)
    return [
        tf.cast(tf.reshape(part, one.shape), one.values.dtype)
        for part, one in zip(parts, tensors, strict=True)
    ]


def _begins(sizes: Sequence[int]) -> list[int]:
    """Returns the offset of each tensor in the concatenation of all."""
    return [sum(sizes[:index]) for index in range(len(sizes))]
