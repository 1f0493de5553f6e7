"""Tells readers about the run they feed: where to start, this process's share of data, the seed.

The engine announces a `Feed` in the graph before it calls input_fn; openmox's readers ask for it
while `input_fn` builds. Outside of a run there is no announcement, and a reader starts at the
beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, run_context


class Taken(NamedTuple):
    """How many elements all processes took from an input in earlier runs, and in how many steps."""

    elements: int = 0
    steps: int = 0


@dataclass(frozen=True)
class Feed:
    """The requirements that a run has of its readers.

    Attributes:
        start: number of elements to skip, because an earlier run took them. One evaluation of the
            reader's tensors yields one element.
        shard, shards: this process reads the elements whose number is `shard` modulo `shards`.
        seed: fixes the order of the data and all random numbers in the input; None: a new seed in
            each run.
        order: the seed of the data's order in a run without a seed. It is stored in checkpoints, so
            that a resumed run continues in the same order; None outside of a run.
        taken: number of elements that all processes together took in earlier runs, in the order of
            their numbers; None: each process took `start` elements.
        steps: number of steps in which earlier runs took these elements.
    """

    start: int = 0
    shard: int = 0
    shards: int = 1
    seed: int | None = None
    order: int | None = None
    taken: int | None = None
    steps: int = 0

    @classmethod
    def behind(
        cls, taken: Taken, shard: int, shards: int, seed: int | None, order: int | None
    ) -> Feed:
        """The feed of a process that goes on after the elements that all processes took."""
        start = own_start(taken.elements, shard, shards)
        return cls(start, shard, shards, seed, order, taken.elements, taken.steps)


def own_start(taken: int, shard: int, shards: int) -> int:
    """The number of elements before element number `taken` that belong to this shard."""
    return max(0, -((shard - taken) // shards))


def announce(feed: Feed) -> None:
    """Announces `feed` to the readers of the current graph."""
    run_context.current().feed = feed


def current() -> Feed:
    """The feed of the current graph's run; a default one outside of a run."""
    announced = run_context.current().feed
    return announced if isinstance(announced, Feed) else Feed(seed=tf.get_default_graph().seed)


def register(get_next: tf.Operation, sample_index: tf.Tensor | None) -> None:
    """Registers a reader that honors `Feed.start` and `Feed.seed`.

    Args:
        get_next: the operation whose outputs the reader returns.
        sample_index: the output of `get_next`, a scalar int64, that numbers the samples over all
            epochs, starting from 0; None if the reader batches.
    """
    context = run_context.current()
    context.positioned.add(get_next.name)
    if sample_index is not None:
        context.sample_indices[get_next.name] = sample_index


def repeats_after(batches: int) -> None:
    """Says that the input of the current graph repeats itself after this number of elements."""
    run_context.current().period = batches


def is_positioned(tensors: Sequence[tf.Tensor]) -> bool:
    """Whether every iterator behind these tensors belongs to a reader that honors the position."""
    known = run_context.current().positioned
    sources = [op for op in ancestry.behind(tensors) if op.type == "IteratorGetNext"]
    return bool(sources) and all(op.name in known for op in sources)


def sample_seed(tensor: tf.Tensor) -> tf.Tensor | None:
    """A separate seed for each sample, for stateless random operations on `tensor`.

    Returns:
        An int64 tensor of shape [2]; None if `tensor` does not come from a reader that numbers its
        samples, or the run has no seed.
    """
    seed = current().seed
    if seed is None:
        return None
    indices = run_context.current().sample_indices
    for op in ancestry.behind([tensor]):
        if op.name in indices:
            return tf.stack([tf.constant(seed, tf.int64), indices[op.name]])
    return None
