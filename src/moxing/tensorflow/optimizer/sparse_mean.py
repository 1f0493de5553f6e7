"""The mean over processes of tensors that are zero almost everywhere: only the rest is sent."""

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
    """Some elements of a tensor of this process.

    Attributes:
        shape: of the tensor, known statically.
        places: int32 [n], where they are in the flat tensor, each once.
        values: [n], what they are.
        room: for how many there is room in a message, in each case; n is not above it.
    """

    shape: tf.TensorShape
    places: tf.Tensor
    values: tf.Tensor
    room: Sequence[int]


def choose(tensor: tf.Tensor, mask: tf.Tensor, room: Sequence[int], case: tf.Tensor) -> Elements:
    """The elements where a mask is True, as far as there is room for them."""
    places = tf.where(tf.reshape(mask, [-1]))[:, 0][: tf.gather(list(room), case)]
    values = tf.gather(tf.reshape(tensor, [-1]), places)
    return Elements(tensor.shape, tf.cast(places, tf.int32), values, room)


def without(tensor: tf.Tensor, elements: Elements) -> tf.Tensor:
    """The tensor with zeros in place of the elements."""
    zeros = tf.zeros_like(elements.values)
    flat = tf.reshape(tensor, [-1])
    left = tf.tensor_scatter_nd_update(flat, elements.places[:, tf.newaxis], zeros)
    return tf.reshape(left, tensor.shape)


def sparse_means(
    exchange: Exchange, tensors: Sequence[Elements], case: tf.Tensor
) -> list[tf.Tensor]:
    """The mean of each tensor over all processes, every element but those given taken as 0.

    All of them share a message, of as many values and places as there is room for.

    Args:
        exchange: with the other processes.
        tensors: sent as float32; the same in all processes but for places and values.
        case: int32 scalar, the index into `room`; the same in all processes.

    Returns:
        Dense tensors, equal to the last bit in all processes.

    Raises:
        MoxNotSupportedError: more elements than 32 bits can count.
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
    # Zeros are added to the first element where a message has room left.
    message = tf.stack([tf.bitcast(tf.concat(places, 0), tf.float32), tf.concat(values, 0)])
    received = exchange.gathered(message, case, len(tensors[0].room))
    total = tf.zeros([sum(sizes)])
    for process in range(exchange.size):  # One after another: in one order, in all processes.
        where = tf.bitcast(received[process, 0], tf.int32)[:, tf.newaxis]
        total = tf.tensor_scatter_nd_add(total, where, received[process, 1])
    parts = tf.split(total / exchange.size, sizes)
    return [
        tf.cast(tf.reshape(part, one.shape), one.values.dtype)
        for part, one in zip(parts, tensors, strict=True)
    ]


def _begins(sizes: Sequence[int]) -> list[int]:
    """Where each tensor begins in all of them laid end to end."""
    return [sum(sizes[:index]) for index in range(len(sizes))]
