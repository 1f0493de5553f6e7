"""Sends tensors between machines inside a step: concatenated parts, sums, the master's values.

A job is traced on every machine, in the same order, so that all make the same collectives. Losses
are weighted so that their sum over the machines is the loss of a single machine. Then the gradient
at a value that all machines share is the sum of the machines' gradients, and the gradient at a part
is its own machine's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.place import CollectivePlace

# Types that collectives take; other types are sent as int32.
_CARRIED = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)


class Exchange:
    """The collectives of a graph with the other machines.

    Attributes:
        index: this machine's number.
        size: the number of machines.
        place: the device of this process's operations.
    """

    def __init__(self, index: int, size: int) -> None:
        self.index, self.size = index, size
        self.place = CollectivePlace(index, size)
        self._device = f"{self.place.device}/device:CPU:0"
        # A group of collectives is bound to one device: gradients to the first device, other
        # tensors to the CPU.
        self._between = CollectivePlace(index, size).between

    @property
    def is_master(self) -> bool:
        """Whether this is machine 0."""
        return self.index == 0

    def sums(self, tensors: Sequence[tf.Tensor], device: str) -> list[tf.Tensor]:
        """The sums of gradients over all machines.

        Args:
            tensors: in the order in which they become known.
            device: the first device of this machine.
        """
        with tf.name_scope("machines"), tf.device(device):
            return self.place.between.sums([tf.identity(tensor) for tensor in tensors])

    def total(self, tensor: tf.Tensor) -> tf.Tensor:
        """The sum of a tensor over all machines."""
        return self._carried(tensor, self._between.sum)

    def whole(self, tensor: tf.Tensor) -> tf.Tensor:
        """The tensors of all machines, which have one shape, concatenated along axis 0."""
        size = int(tensor.shape[0])

        @tf.custom_gradient
        def gathered(own: tf.Tensor) -> Any:
            def gradient(upstream: tf.Tensor) -> tf.Tensor:
                return self.total(upstream)[self.index * size : (self.index + 1) * size]

            return self._carried(own, self._between.gather), gradient

        return gathered(tensor)

    def joined(self, tensor: tf.Tensor, axis: int, sizes: Sequence[int]) -> tf.Tensor:
        """The tensors of all machines, which may differ in size along `axis`, concatenated."""
        order = [axis, *(i for i in range(tensor.shape.rank) if i != axis)]
        most, first = max(sizes), tf.transpose(tensor, order) if axis else tensor
        if min(sizes) < most:
            more = [[0, most - sizes[self.index]], *([[0, 0]] * (len(order) - 1))]
            # All machines must make the same collectives, so each of them pads, the largest too.
            rows = self.whole(tf.pad(first, more))
            pieces = [rows[i * most : i * most + size] for i, size in enumerate(sizes)]
            rows = tf.concat(pieces, 0)
        else:
            rows = self.whole(first)
        return tf.transpose(rows, [order.index(i) for i in range(len(order))]) if axis else rows

    def given(
        self, tensor: tf.Tensor, giver: int = 0, most: Sequence[int | None] = ()
    ) -> tf.Tensor:
        """Returns on all machines the value of a tensor on machine `giver`, which computes it.

        Args:
            tensor: of the same static shape on all machines.
            giver: the number of the machine.
            most: a shape of at least as many elements as a tensor of unknown shape ever has.
        """
        here = self.index == giver
        # TensorFlow's collectives end the process at a tensor without elements.
        if tensor.shape.num_elements() == 0:
            return tf.identity(tensor)
        if tensor.shape.is_fully_defined():
            return self._carried(tensor, lambda t: self._between.give(t, here))
        with tf.device(self._device):
            mine = tf.shape(tensor) if here else tf.zeros([tensor.shape.rank or 0], tf.int32)
            shape = self._between.give(tf.identity(mine), here)
            # The giver does not need the shape, but must send it.
            with tf.control_dependencies([shape]):
                sent = (
                    self._filled(tensor, most) if here else tf.zeros([_count(most)], tensor.dtype)
                )
        carried = self._carried(sent, lambda t: self._between.give(t, here))
        result = tf.reshape(carried[: tf.reduce_prod(shape)], shape)
        result.set_shape(tensor.shape)
        return result

    @staticmethod
    def _filled(tensor: tf.Tensor, most: Sequence[int | None]) -> tf.Tensor:
        """The elements of a tensor, then zeros: a collective keeps the shape of its first step."""
        flat = tf.reshape(tensor, [-1])
        filled = tf.pad(flat, [[0, _count(most) - tf.size(flat)]])
        return tf.ensure_shape(filled, [_count(most)])

    def _carried(self, tensor: tf.Tensor, carry: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
        with tf.name_scope("machines"), tf.device(self._device):
            if tensor.dtype in _CARRIED:
                return carry(tf.identity(tensor))
            return tf.cast(carry(tf.cast(tensor, tf.int32)), tensor.dtype)


def _count(most: Sequence[int | None]) -> int:
    return max(1, math.prod(size or 1 for size in most))
