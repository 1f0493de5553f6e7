"""Tensors that travel between machines inside a step: wholes of parts, sums, the master's values.

A job is traced on every machine, in the same order, so that all make the same collectives. Losses
are weighted so that their sum over the machines is that of one; then the gradient of what machines
have alike is the sum of what they find, and that of a part is what its own machine finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.place import CollectivePlace

# Types that collectives take; others travel as int32.
_CARRIED = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)


class Exchange:
    """What a graph does with the other machines.

    Attributes:
        index: this machine's number.
        size: how many machines there are.
        place: where this process's operations are.
    """

    def __init__(self, index: int, size: int) -> None:
        self.index, self.size = index, size
        self.place = CollectivePlace(index, size)
        self._device = f"{self.place.device}/device:CPU:0"
        # A group of collectives is bound to one device: gradients to the first, these to the CPU.
        self._between = CollectivePlace(index, size).between

    @property
    def is_master(self) -> bool:
        """Whether this is machine 0."""
        return self.index == 0

    def sums(self, tensors: Sequence[tf.Tensor], device: str) -> list[tf.Tensor]:
        """The sums of gradients over all machines.

        Args:
            tensors: in the order in which they become known.
            device: the first of this machine.
        """
        with tf.name_scope("machines"), tf.device(device):
            return self.place.between.sums([tf.identity(tensor) for tensor in tensors])

    def total(self, tensor: tf.Tensor) -> tf.Tensor:
        """The sum of a tensor over all machines."""
        return self._carried(tensor, self._between.sum)

    def whole(self, tensor: tf.Tensor) -> tf.Tensor:
        """The tensors of all machines, of one shape, one behind another along axis 0."""
        size = int(tensor.shape[0])

        @tf.custom_gradient
        def gathered(own: tf.Tensor) -> Any:
            def gradient(upstream: tf.Tensor) -> tf.Tensor:
                return self.total(upstream)[self.index * size : (self.index + 1) * size]

            return self._carried(own, self._between.gather), gradient

        return gathered(tensor)

    def joined(self, tensor: tf.Tensor, axis: int, sizes: Sequence[int]) -> tf.Tensor:
        """The tensors of all machines, of sizes of their own along `axis`, one behind another."""
        order = [axis, *(i for i in range(tensor.shape.rank) if i != axis)]
        most, first = max(sizes), tf.transpose(tensor, order)
        more = [[0, most - sizes[self.index]], *([[0, 0]] * (len(order) - 1))]
        rows = self.whole(tf.pad(first, more))
        if min(sizes) < most:
            pieces = [rows[i * most : i * most + size] for i, size in enumerate(sizes)]
            rows = tf.concat(pieces, 0)
        return tf.transpose(rows, [order.index(i) for i in range(len(order))])

    def given(self, tensor: tf.Tensor, giver: int = 0) -> tf.Tensor:
        """The value that a tensor has on machine `giver`, on all; elsewhere it is not computed."""
        here = self.index == giver
        if tensor.shape.is_fully_defined():
            return self._carried(tensor, lambda t: self._between.give(t, here))
        with tf.device(self._device):
            mine = tf.shape(tensor) if here else tf.zeros([tensor.shape.rank or 0], tf.int32)
            shape = self._between.give(tf.identity(mine), here)
            # The giver needs no shape, but must send it.
            with tf.control_dependencies([shape]):
                sent = tf.identity(tensor) if here else tf.zeros(shape, tensor.dtype)
        result = self._carried(sent, lambda t: self._between.give(t, here))
        result.set_shape(tensor.shape)
        return result

    def _carried(self, tensor: tf.Tensor, carry: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
        with tf.name_scope("machines"), tf.device(self._device):
            if tensor.dtype in _CARRIED:
                return carry(tf.identity(tensor))
            return tf.cast(carry(tf.cast(tensor, tf.int32)), tensor.dtype)
