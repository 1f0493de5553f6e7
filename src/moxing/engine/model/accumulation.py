"""Gradient accumulation: a step takes several batches, and updates with their mean gradient.

A session call takes one batch. The calls of a step's first batches add gradients to sums that each
device keeps; the call of its last batch updates the variables with the mean over all of them. Sums
are empty between two steps, so no checkpoint holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.replicas import Replica
from moxing.engine.wording.option_names import option
from moxing.errors import MoxNotSupportedError

GradsAndVars = list[tuple[Any, tf.Variable]]


@dataclass(frozen=True)
class EarlierBatches:
    """The operations that take the batches of a step before its last one.

    Attributes:
        count: how many such batches a step has, at least 1.
        first: takes the first batch.
        further: takes each further batch except the last.
        number: int64 scalar to feed with the number of the batch within its step, from 0 on. Its
            default is the number of the last batch.
    """

    count: int
    first: tf.Operation
    further: tf.Operation
    number: tf.Tensor


class Accumulation:
    """Collects, while a step is built, the operations that its earlier batches run.

    Args:
        batches: the number of batches in a step, over which the mean of gradients is taken.

    Attributes:
        batches: the argument.
        number: see `EarlierBatches`; None if a step is one batch.
    """

    def __init__(self, batches: int = 1) -> None:
        self.batches = batches
        self.number: tf.Tensor | None = None
        if batches > 1:
            with tf.device("/cpu:0"):
                last = tf.constant(batches - 1, tf.int64)
                self.number = tf.placeholder_with_default(last, [], "batch_in_step")
        self._first: list[Any] = []
        self._further: list[Any] = []

    def number_of_batch(self, global_step: tf.Variable) -> tf.Tensor:
        """The number of the current batch over all steps, an int64 scalar."""
        step = tf.cast(global_step.read_value(), tf.int64)
        return step if self.number is None else step * self.batches + self.number

    def means(self, replica: Replica, label: str, pairs: GradsAndVars) -> GradsAndVars:
        """Turns the gradients of one batch into the mean gradients over the batches of a step.

        Args:
            replica: the model of the device that computes the gradients and keeps the sums.
            label: tells losses apart, in the names of the sums.
            pairs: the gradients of one loss; None stays None, and sparse gradients stay sparse.
        """
        if self.batches == 1:
            return pairs
        with tf.device(replica.device), tf.name_scope("accumulate_gradients"):
            return [
                (self._mean(gradient, variable, f"openmox/sum/{replica.index}/{label}"), variable)
                for gradient, variable in pairs
            ]

    def also(self, operations: Sequence[Any]) -> None:
        """Lets operations, such as updates of batch norm, run with the earlier batches too."""
        self._first += operations
        self._further += operations

    def earlier(self, reads: Sequence[tf.Operation]) -> EarlierBatches | None:
        """Returns the operations that take the earlier batches; None if a step is one batch.

        Args:
            reads: operations to run as well: they read data, also the data that the model ignores.
        """
        if self.number is None:
            return None
        first, further = tf.group(*self._first, *reads), tf.group(*self._further, *reads)
        return EarlierBatches(self.batches - 1, first, further, self.number)

    def _mean(self, gradient: Any, variable: tf.Variable, where: str) -> Any:
        if gradient is None:
            return None
        kept = _Sum(variable, f"{where}/{variable.op.name}", gradient)
        self._first.append(kept.begin)
        self._further.append(kept.add)
        return kept.mean(self.batches)


class _Sum:
    """The sum of a variable's gradients, in at least 32 bits; sparse gradients are added by rows.

    Args:
        variable: the variable.
        name: the name of the sum.
        gradient: the gradient of one batch.

    Attributes:
        begin: sets the sum to the gradient of this batch.
        add: adds the gradient of this batch to the sum.
    """

    def __init__(self, variable: tf.Variable, name: str, gradient: Any) -> None:
        shape = variable.shape
        if not shape.is_fully_defined():
            raise MoxNotSupportedError(
                f"the variable {variable.op.name} has no fixed shape, so its gradients can't be"
                f" accumulated. Give it one, or leave {option('--accumulate_steps')} out."
            )
        self._gradient = gradient
        self._dtype = gradient.dtype
        wide = tf.float32 if self._dtype.size < 4 else self._dtype
        self._sum = _local(name, shape, wide)
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.cast(gradient.values, wide)
            self._rows = tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
            self._touched = _local(f"{name}/rows", shape[:1], tf.bool)
            empty = [self._sum.assign(tf.zeros(shape, wide), read_value=False)]
            empty.append(self._touched.assign(tf.zeros(shape[:1], tf.bool), read_value=False))
            with tf.control_dependencies(empty):
                self.begin = self._add_rows()
            self.add = self._add_rows()
        else:
            value = tf.cast(gradient, wide)
            self.begin = self._sum.assign(value, read_value=False)
            self.add = self._sum.assign_add(value, read_value=False)

    def mean(self, batches: int) -> Any:
        """The sum plus the gradient of this batch, over `batches`; sparse if the gradient is."""
        gradient, total = self._gradient, self._sum.read_value()
        if not isinstance(gradient, tf.IndexedSlices):
            return tf.cast((total + tf.cast(gradient, total.dtype)) / batches, self._dtype)
        before = tf.cast(tf.where(self._touched.read_value())[:, 0], gradient.indices.dtype)
        values = tf.concat([tf.gather(total, before), self._rows.values], 0) / batches
        indices = tf.concat([before, gradient.indices], 0)
        return tf.IndexedSlices(tf.cast(values, self._dtype), indices, gradient.dense_shape)

    def _add_rows(self) -> tf.Operation:
        rows = self._rows
        seen = tf.IndexedSlices(tf.ones_like(rows.indices, tf.bool), rows.indices)
        # The values were computed before a control dependency could hold their use back.
        added = tf.IndexedSlices(tf.identity(rows.values), rows.indices)
        return tf.group(self._sum.scatter_add(added), self._touched.scatter_update(seen))


def _local(name: str, shape: tf.TensorShape, dtype: tf.DType) -> Any:
    return tf.get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=tf.zeros_initializer(),
        trainable=False,
        use_resource=True,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
    )
