"""In which order a reader goes through its samples: a function of seed, epoch and position alone.

Positions count samples over all epochs, from 0. Epoch e has the positions e * n to e * n + n - 1,
and goes through all n samples once, in a permutation of its own. So a run can start at any position
without reading what comes before, and workers can share positions without talking to each other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

plain = tf.autograph.experimental.do_not_convert

# In place of a sample's number: the epoch ends here.
MARK = -1
_ENDLESS = 1 << 62


@dataclass(frozen=True)
class Order:
    """The samples of one worker, in order.

    Attributes:
        samples: how many there are, for all workers together; at least 1.
        epochs: how often to go through them; None: endlessly.
        shuffle: whether each epoch is a permutation drawn from `seed`, else 0 to n - 1.
        seed: int64.
        shard, shards: the worker takes the positions that are `shard` modulo `shards`.
    """

    samples: int
    epochs: int | None
    shuffle: bool
    seed: int
    shard: int = 0
    shards: int = 1

    def dataset(self, first: int) -> Any:
        """Pairs of int64 scalars, position and number of the sample, from position `first` on.

        After the last one of each epoch comes a pair (first position of the next epoch, MARK).
        """
        end = _ENDLESS if self.epochs is None else self.epochs
        epochs = tf.data.Dataset.range(min(first // self.samples, end), end)
        return epochs.flat_map(plain(lambda epoch: self._epoch(epoch, first)))

    def _epoch(self, epoch: tf.Tensor, first: int) -> Any:
        begin = epoch * self.samples
        end = begin + self.samples
        start = tf.maximum(begin, tf.constant(first, tf.int64))
        start += tf.math.floormod(self.shard - start, self.shards)
        positions = tf.range(tf.minimum(start, end), end, self.shards)
        numbers = positions - begin
        if self.shuffle:
            numbers = tf.gather(_permutation(self.samples, self.seed, epoch), numbers)
        positions = tf.concat([positions, end[tf.newaxis]], 0)
        numbers = tf.concat([numbers, tf.constant([MARK], tf.int64)], 0)
        return tf.data.Dataset.from_tensor_slices((positions, numbers))

    def of_epoch(self, epoch: int) -> np.ndarray:
        """The numbers of all samples (of every worker) in the order of one epoch, int64 [n]."""
        if not self.shuffle:
            return np.arange(self.samples)
        with tf.Graph().as_default(), tf.Session() as session:
            number = tf.constant(epoch, tf.int64)
            return session.run(_permutation(self.samples, self.seed, number))

    def first_position(self, taken: int, bad: Collection[int] = ()) -> int:
        """Where this worker goes on after `taken` samples, if it left out those that are `bad`."""
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


def _permutation(samples: int, seed: int, epoch: tf.Tensor) -> tf.Tensor:
    """All numbers below `samples` in random order: they sort random 64-bit keys.

    (`tf.random.experimental.index_shuffle` would need no memory, but has no more than 256 different
    orders of ten samples.)
    """
    pair = tf.stack([tf.constant(seed, tf.int64), epoch])
    keys = tf.random.stateless_uniform([samples], pair, None, None, tf.int64)
    return tf.cast(tf.argsort(keys, stable=True), tf.int64)
