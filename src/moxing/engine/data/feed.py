"""What a reader must know of the run it feeds: where to start, its share of the data, the seed.

The engine announces it in the graph before it calls input_fn; a reader of ours asks for it while
`input_fn` builds. Outside of a run there is no announcement and a reader starts at the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry, run_context


@dataclass(frozen=True)
class Feed:
    """One run's demand on its readers.

    Attributes:
        start: elements (what one evaluation of the reader's tensors yields) to leave out, because
            an earlier run took them.
        shard, shards: this process reads the elements whose number is `shard` modulo `shards`.
        seed: fixes the order of data and every random number made of it; None: a new one each run.
        order: what the order of data is drawn from where there is no seed. It is kept in commits,
            so that a resumed run goes on in the order of the one before; None outside of a run.
    """

    start: int = 0
    shard: int = 0
    shards: int = 1
    seed: int | None = None
    order: int | None = None


def announce(feed: Feed) -> None:
    """Says in the current graph what its readers are to do."""
    run_context.current().feed = feed


def current() -> Feed:
    """What the current graph's run demands; a default outside of a run."""
    announced = run_context.current().feed
    return announced if isinstance(announced, Feed) else Feed(seed=tf.get_default_graph().seed)


def register(get_next: tf.Operation, sample_index: tf.Tensor | None) -> None:
    """Says that a reader honors `Feed.start` and `Feed.seed`.

    Args:
        get_next: the operation whose outputs the reader hands out.
        sample_index: one of its outputs: a scalar int64 that numbers the samples over all epochs,
            from 0 at the very beginning; None where the reader batches.
    """
    context = run_context.current()
    context.positioned.add(get_next.name)
    if sample_index is not None:
        context.sample_indices[get_next.name] = sample_index


def is_positioned(tensors: Sequence[tf.Tensor]) -> bool:
    """Whether every iterator behind these tensors belongs to a reader that honors the position."""
    known = run_context.current().positioned
    sources = [op for op in ancestry.behind(tensors) if op.type == "IteratorGetNext"]
    return bool(sources) and all(op.name in known for op in sources)


def sample_seed(tensor: tf.Tensor) -> tf.Tensor | None:
    """A seed of its own for each sample, for stateless random operations on `tensor`.

    Returns:
        int64 [2], or None where `tensor` does not come from a reader or the run has no seed.
    """
    seed = current().seed
    if seed is None:
        return None
    indices = run_context.current().sample_indices
    for op in ancestry.behind([tensor]):
        if op.name in indices:
            return tf.stack([tf.constant(seed, tf.int64), indices[op.name]])
    return None
