"""Sums gradients in one group of all devices of all processes, each of which gets the sums.

Every device adds its own operation to each collective, under one group key and one instance key. A
device starts its collectives one after another, in the order of the buckets, which is the same on
all devices: NCCL's launches would otherwise wait for each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import tensorflow.compat.v1 as tf

from moxing.engine.graph.hardware import Exchange
from moxing.engine.parallel.buckets import buckets


@dataclass
class OneGroup:
    """The collectives that the devices of this process share with the devices of all others.

    Every process has to build the same sums in the same order: the order identifies each
    collective.

    Attributes:
        devices: the names of this process's devices.
        size: the number of devices of all processes.
        group: the number of this group among all groups of the cluster.
        exchange: the kind of collectives.
        compressed: whether float32 travels as float16.
        rider: scalar float32 tensor that is summed in the first device's first message; None if
            there is no such tensor.
        carried: the sum of `rider` over all processes.
    """

    devices: Sequence[str]
    size: int
    group: int
    exchange: Exchange
    compressed: bool = False
    rider: tf.Tensor | None = None
    carried: tf.Tensor | None = None
    _keys: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _last: dict[str, tf.Operation] = field(default_factory=dict)

    def sums(self, of_each: Sequence[Sequence[tf.Tensor]]) -> list[list[tf.Tensor]]:
        """Returns the sum of each tensor over all devices, on every device.

        Args:
            of_each: each device's tensors, in the order in which they become known.
        """
        if self.rider is None or self.carried is not None:
            return self._sums(of_each)
        riders = [self.rider, *(tf.zeros([]) for _ in self.devices[1:])]
        found = self._sums([[r, *own] for r, own in zip(riders, of_each, strict=True)])
        self.carried = found[0][0]
        return [own[1:] for own in found]

    def sum_of_riders(self) -> tf.Tensor:
        """Returns the sum of `rider`; makes a collective for it if there are no other sums.

        Raises:
            ValueError: there is no rider.
        """
        if self.carried is None:
            self.sums([[] for _ in self.devices])
        if self.carried is None:
            raise ValueError("OneGroup has no rider.")
        return self.carried

    def _sums(self, of_each: Sequence[Sequence[tf.Tensor]]) -> list[list[tf.Tensor]]:
        results: list[dict[int, tf.Tensor]] = [{} for _ in self.devices]
        limit = self.exchange.bucket
        for bucket in buckets(of_each[0], limit, limit):
            key = next(self._keys)
            for own, device, found in zip(of_each, self.devices, results, strict=True):
                with tf.device(device):
                    sums = self._bucket([own[index] for index in bucket], device, key)
                found.update(zip(bucket, sums, strict=True))
        return [[found[index] for index in range(len(found))] for found in results]

    def _bucket(self, tensors: Sequence[tf.Tensor], device: str, key: int) -> list[tf.Tensor]:
        if len(tensors) == 1:
            return [self._sum(tensors[0], device, key)]
        flat = self._sum(tf.concat([tf.reshape(t, [-1]) for t in tensors], 0), device, key)
        parts = tf.split(flat, [tensor.shape.num_elements() for tensor in tensors])
        return [tf.reshape(part, t.shape) for part, t in zip(parts, tensors, strict=True)]

    def _sum(self, tensor: tf.Tensor, device: str, key: int) -> tf.Tensor:
        compressed = self.compressed and tensor.dtype == tf.float32
        # TensorFlow's collectives lack bfloat16.
        other = tf.float16 if compressed else tf.float32 if tensor.dtype == tf.bfloat16 else None
        sent = tensor if other is None else tf.cast(tensor, other)
        before = [self._last[device]] if device in self._last else []
        size, group = tf.constant(self.size), tf.constant(self.group)
        # Outside the block of control dependencies: the collective's own order is enough.
        instance = tf.constant(key)
        with tf.control_dependencies(before):
            total = tf.raw_ops.CollectiveReduceV2(
                input=sent,
                ordering_token=[],
                merge_op="Add",
                final_op="Id",
                group_size=size,
                group_key=group,
                instance_key=instance,
                communication_hint=self.exchange.hint,
                timeout_seconds=0,
            )
        self._last[device] = total.op
        total.set_shape(tensor.shape)
        return total if other is None else tf.cast(total, tensor.dtype)
