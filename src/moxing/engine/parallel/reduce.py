"""Computes the mean of the gradients of several devices and processes, the same for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.buckets import buckets
from moxing.engine.parallel.one_group import OneGroup
from moxing.engine.parallel.replicas import Replica

# Tensors below this many bytes share a message: a message costs as much as about that many bytes.
_SMALL = 1024 * 1024
_BUCKET = 2 * 1024 * 1024
# Two processes swap tensors of up to this many bytes: one message each way instead of two.
_GATHERED = 512 * 1024
# Larger tensors are sent in pieces, so that one piece is added while the next is on its way.
_PIECE = 8 * 1024 * 1024


@dataclass
class AllReduce:
    """Sums tensors over processes, by TensorFlow's collectives.

    Every process has to build the same sums in the same order: the order identifies each
    collective.

    Attributes:
        size: the number of processes that take part.
        group: the number of this group among all groups of the cluster.
        compressed: whether float32 travels as float16.
        rider: scalar float32 tensor that is summed in the first message; None if there is no such
            tensor.
        carried: the sum of `rider`.
    """

    size: int
    group: int = 1
    compressed: bool = False
    rider: tf.Tensor | None = None
    carried: tf.Tensor | None = None
    _keys: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def sums(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the sum of each tensor over all processes; small tensors share a message.

        Args:
            tensors: numeric tensors, in the order in which they become known.
        """
        if self.rider is not None and self.carried is None:
            *sums, self.carried = self._sums([*tensors, self.rider])
            return sums
        return self._sums(tensors)

    def sum_of_riders(self) -> tf.Tensor:
        """Returns the sum of `rider`; makes a collective for it if there are no other sums.

        Raises:
            ValueError: there is no rider.
        """
        if self.carried is None:
            self.sums([])
        if self.carried is None:
            raise ValueError("AllReduce has no rider.")
        return self.carried

    def _sums(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        results: dict[int, tf.Tensor] = {}
        for bucket in buckets(tensors, _SMALL, _BUCKET):
            for index, value in zip(
                bucket, self._bucket([tensors[i] for i in bucket]), strict=True
            ):
                results[index] = value
        return [results[index] for index in range(len(tensors))]

    def _bucket(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        if len(tensors) == 1:
            return [self.sum(tensors[0])]
        flat = self.sum(tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], 0))
        sizes = [tensor.shape.num_elements() for tensor in tensors]
        parts = tf.split(flat, sizes)
        return [tf.reshape(part, t.shape) for part, t in zip(parts, tensors, strict=True)]

    def sum(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the sum of one tensor over all processes."""
        compressed = self.compressed and tensor.dtype == tf.float32
        # TensorFlow's collectives lack bfloat16.
        other = tf.float16 if compressed else tf.float32 if tensor.dtype == tf.bfloat16 else None
        sent = tensor if other is None else tf.cast(tensor, other)
        total = self._sum_of_any_size(sent)
        total.set_shape(tensor.shape)
        return total if other is None else tf.cast(total, tensor.dtype)

    def _sum_of_any_size(self, tensor: tf.Tensor) -> tf.Tensor:
        """Sums by the collective that is fastest for this size: see benchmarks/collectives.py."""
        size = tensor.shape.num_elements()
        nbytes = size * tensor.dtype.size if size is not None else None
        if self.size == 2 and nbytes is not None and nbytes <= _GATHERED:
            both = tf.raw_ops.CollectiveGatherV2(
                input=tf.expand_dims(tensor, 0), ordering_token=[], **self._common()
            )
            return both[0] + both[1]
        if size is None or nbytes is None or nbytes <= 2 * _PIECE:
            return self._reduce(tensor)
        flat = tf.reshape(tensor, [-1])
        count = -(-nbytes // _PIECE)
        bounds = [size * number // count for number in range(count + 1)]
        pieces = [
            self._reduce(flat[low:high]) for low, high in zip(bounds, bounds[1:], strict=False)
        ]
        return tf.reshape(tf.concat(pieces, 0), tensor.shape)

    def _reduce(self, tensor: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.CollectiveReduceV2(
            input=tensor, ordering_token=[], merge_op="Add", final_op="Id", **self._common()
        )

    def _common(self) -> dict[str, Any]:
        return {
            "group_size": self.size,
            "group_key": self.group,
            "instance_key": next(self._keys),
            "communication_hint": "auto",
            "timeout_seconds": 0,
        }

    def gather(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the tensors of all processes, which have one shape, concatenated along axis 0."""
        result = tf.raw_ops.CollectiveGatherV2(input=tensor, ordering_token=[], **self._common())
        first = tensor.shape[0] * self.size if tensor.shape.rank else None
        result.set_shape([first, *tensor.shape[1:]])
        return result

    def gather_in_case(self, tensor: tf.Tensor, case: tf.Tensor, cases: int) -> tf.Tensor:
        """Returns the tensors of all processes, concatenated; each case has a shape of its own.

        TensorFlow remembers the shape of each collective, so each case is a collective of its own.
        """
        common = self._common()
        for _ in range(cases - 1):
            next(self._keys)
        common["instance_key"] += tf.cast(case, tf.int32)
        return tf.raw_ops.CollectiveGatherV2(input=tensor, ordering_token=[], **common)

    def give(self, tensor: tf.Tensor, chief: bool) -> tf.Tensor:
        """Returns the chief's value of a tensor, in every process."""
        common = self._common()
        # TensorFlow's collectives lack bfloat16.
        dtype = tf.float32 if tensor.dtype == tf.bfloat16 else tensor.dtype
        if chief:
            sent = tf.raw_ops.CollectiveBcastSendV2(input=tf.cast(tensor, dtype), **common)
            return tf.cast(sent, tensor.dtype)
        shape = tf.shape(tensor)
        given = tf.raw_ops.CollectiveBcastRecvV2(T=dtype, shape=shape, **common)
        given = tf.cast(given, tensor.dtype)
        given.set_shape(tensor.shape)
        return given


@dataclass(frozen=True)
class Spread:
    """Where a step is computed and how its gradients meet.

    Attributes:
        replicas: the models of this process.
        between: sums over processes; None if this process is alone or does not wait for others.
        applies: whether this process updates the variables; else another process does.
        data: operations to wait for before a gradient is sent: if the input of one process ends, no
            process makes a part of that step.
        apart: whether each process has variables of its own, so that an optimizer may exchange
            tensors with other processes itself.
        everywhere: sums over all devices of all processes, on each device; None if gradients are
            added on the first device, and then summed by `between`.
    """

    replicas: Sequence[Replica]
    between: AllReduce | None = None
    applies: bool = True
    data: tuple[tf.Operation, ...] = ()
    apart: bool = False
    everywhere: OneGroup | None = None

    @property
    def is_single(self) -> bool:
        """Whether all processes together have only one device."""
        return len(self.replicas) == 1 and self.between is None

    def mean_here(self, gradients: Sequence[Sequence[Any]]) -> list[Any]:
        """The mean of each gradient over this process's devices; arguments as for `mean`.

        The means wait until all processes have data for the step and the sum of `rider` is known.
        """
        carrier = self.everywhere or self.between
        assert carrier is not None
        share = 1.0 / len(self.replicas)
        with tf.name_scope("mean_gradients"), tf.device(self.replicas[0].device):
            local = [_sum(of_all, share) for of_all in zip(*gradients, strict=True)]
            with tf.control_dependencies(self.data):
                carried = carrier.sum_of_riders()
            with tf.control_dependencies([carried]):
                return [_identity(gradient) for gradient in local]

    def means_of_each(self, gradients: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """The mean gradients for each device of this process: every device computes its own.

        Args:
            gradients: as for `mean`. Sparse gradients stay sparse within a process, and are added
                on the first device.
        """
        group = self.everywhere
        assert group is not None
        count = len(gradients[0])
        sparse = [
            number
            for number in range(count)
            if self.between is None
            and all(isinstance(own[number], tf.IndexedSlices) for own in gradients)
        ]
        # Backpropagation computes the last layers' gradients first.
        sent = [number for number in reversed(range(count)) if number not in sparse]
        with tf.name_scope("mean_gradients"), tf.control_dependencies(self.data):
            scaled = []
            for own, replica in zip(gradients, self.replicas, strict=True):
                with tf.device(replica.device):
                    scaled.append([_share(own[number], 1.0 / group.size) for number in sent])
            found = [dict(zip(sent, sums, strict=True)) for sums in group.sums(scaled)]
            with tf.device(self.replicas[0].device):
                for number in sparse:
                    mean = _sum([own[number] for own in gradients], 1.0 / group.size)
                    for one in found:
                        one[number] = mean
        return [[one[number] for number in range(count)] for one in found]

    def mean(self, gradients: Sequence[Sequence[Any]]) -> list[Any]:
        """Returns the mean of each gradient over all devices of all processes.

        Args:
            gradients: for each replica, the gradients of the same variables in the same order:
                tensors, or IndexedSlices, which stay sparse within a process.
        """
        share = len(self.replicas) * (self.between.size if self.between else 1)
        with tf.name_scope("mean_gradients"), tf.device(self.replicas[0].device):
            local = [_sum(of_all, 1.0 / share) for of_all in zip(*gradients, strict=True)]
            if self.between is None:
                return local
            # Backpropagation computes the last layers' gradients first.
            dense = [tf.convert_to_tensor(gradient) for gradient in reversed(local)]
            with tf.control_dependencies(self.data):
                return self.between.sums([tf.identity(g) for g in dense])[::-1]


def _sum(gradients: Sequence[Any], factor: float) -> Any:
    if any(isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
        if all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
            values = tf.concat([gradient.values for gradient in gradients], 0)
            indices = tf.concat([gradient.indices for gradient in gradients], 0)
            scaled = values * tf.cast(factor, values.dtype)
            return tf.IndexedSlices(scaled, indices, gradients[0].dense_shape)
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    total = tf.add_n(list(gradients)) if len(gradients) > 1 else gradients[0]
    return total * tf.cast(factor, total.dtype) if factor != 1.0 else total


def _share(gradient: Any, factor: float) -> tf.Tensor:
    dense = tf.convert_to_tensor(gradient)
    return dense * tf.cast(factor, dense.dtype)


def _identity(gradient: Any) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        values = tf.identity(gradient.values)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return tf.identity(gradient)
