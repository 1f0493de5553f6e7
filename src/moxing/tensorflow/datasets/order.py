"""The order in which a reader reads its samples: a function of only seed, epoch and position.

Positions count samples over all epochs, from 0. Epoch e has the positions e * n to e * n + n - 1,
and reads all n samples once, in its own permutation. So a run can start at any position without
reading earlier samples, and workers can divide positions without communicating.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

plain = tf.autograph.experimental.do_not_convert

_ENDLESS = 1 << 62
_BATCHES_A_MARK = 256


@dataclass(frozen=True)
class Order:
    """The samples of one worker, in order.

    Attributes:
        samples: the number of samples, for all workers together; at least 1.
        epochs: the number of passes over the samples; None: no end.
        shuffle: whether each epoch is a permutation drawn from `seed`; else it is 0 to n - 1.
        seed: the seed, an int64 number.
        shard, shards: the worker reads the positions that are `shard` modulo `shards`.
    """

    samples: int
    epochs: int | None
    shuffle: bool
    seed: int
    shard: int = 0
    shards: int = 1

    def dataset(self, first: int) -> Any:
        """Returns pairs of int64 scalars, the position and index of a sample, from `first` on.

        A mark follows the last pair of each epoch: the first position of the next epoch, with the
        index that a sample after the last one would have.
        """

        def epoch_and_mark(epoch: tf.Tensor) -> Any:
            positions, numbers, end = self._epoch(epoch, first)
            return _slices(positions, numbers, end, self.samples, 1)

        return self._epochs(first).flat_map(plain(epoch_and_mark))

    def batches(self, first: int, size: int) -> Any:
        """Returns the same pairs, but with marks that form separate batches.

        A batch of marks follows a number of whole batches of `size`, and the last samples. An
        incomplete last batch is filled up with marks.
        """

        def epoch_alone(epoch: tf.Tensor) -> Any:
            positions, numbers, _ = self._epoch(epoch, first)
            return tf.data.Dataset.from_tensor_slices((positions, numbers))

        def chunk_and_marks(positions: tf.Tensor, numbers: tf.Tensor) -> Any:
            marks = size + tf.math.floormod(-tf.size(positions), size)
            return _slices(positions, numbers, positions[-1] + 1, self.samples, marks)

        samples = self._epochs(first).flat_map(plain(epoch_alone))
        return samples.batch(size * _BATCHES_A_MARK).flat_map(plain(chunk_and_marks))

    def _epochs(self, first: int) -> Any:
        end = _ENDLESS if self.epochs is None else self.epochs
        return tf.data.Dataset.range(min(first // self.samples, end), end)

    def _epoch(self, epoch: tf.Tensor, first: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns positions from `first` on, sample indices, and the next epoch's start."""
        begin = epoch * self.samples
        end = begin + self.samples
        start = tf.maximum(begin, tf.constant(first, tf.int64))
        start += tf.math.floormod(self.shard - start, self.shards)
        positions = tf.range(tf.minimum(start, end), end, self.shards)
        numbers = positions - begin
        if self.shuffle:
            numbers = tf.gather(_permutation(self.samples, self.seed, epoch), numbers)
        return positions, numbers, end

    def of_epoch(self, epoch: int) -> np.ndarray:
        """Returns the indices of all workers' samples in the order of one epoch, int64 [n]."""
        if not self.shuffle:
            return np.arange(self.samples)
        with tf.Graph().as_default(), tf.Session() as session:
            number = tf.constant(epoch, tf.int64)
            return session.run(_permutation(self.samples, self.seed, number))

    def first_position(self, taken: int, bad: Collection[int] = ()) -> int:
        """Returns this worker's position after `taken` samples, if it leaves out the `bad` ones."""
        if not bad:
            return self.shard + taken * self.shards
        if len(bad) >= self.samples:
            return 0
        is_bad = np.zeros(self.samples, bool)
        is_bad[list(bad)] = True
        epoch = found = 0
        while True:
            begin = epoch * self.samples
            own = np.arange((self.shard - begin) % self.shards, self.samples, self.shards)
            good = own[~is_bad[self.of_epoch(epoch)[own]]]
            if taken < len(good):
                return int(begin + good[taken])
            taken -= len(good)
            found += len(good)
            epoch += 1
            if epoch > self.shards and not found:
                return begin


def _slices(
    positions: tf.Tensor, numbers: tf.Tensor, position: tf.Tensor, number: int, marks: Any
) -> Any:
    """Returns the pairs as a dataset, followed by `marks` copies of (position, number)."""
    ends = tf.fill([marks], position)
    number_again = tf.fill([marks], tf.constant(number, tf.int64))
    both = (tf.concat([positions, ends], 0), tf.concat([numbers, number_again], 0))
    return tf.data.Dataset.from_tensor_slices(both)


def _permutation(samples: int, seed: int, epoch: tf.Tensor) -> tf.Tensor:
    """Returns all numbers below `samples` in random order, by sorting random 64-bit keys.

    (`tf.random.experimental.index_shuffle` would need no memory, but it has at most 256 different
    orders of ten samples.)
    """
    pair = tf.stack([tf.constant(seed, tf.int64), epoch])
    keys = tf.random.stateless_uniform([samples], pair, None, None, tf.int64)
    return tf.cast(tf.argsort(keys, stable=True), tf.int64)
