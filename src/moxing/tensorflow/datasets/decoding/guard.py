"""Maps a function over samples, and names or leaves out bad samples, at little extra cost.

An error of a tf.data function says which operation failed, but not for which sample. So the results
carry the positions of their samples, and failed results are dropped. Only when a position is
missing in the sequence does Python code diagnose that sample. Marks among the samples never fail,
so that a missing sample is noticed soon even if no good sample follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.decoding.skipped import Skipped
from moxing.tensorflow.datasets.order import Order, plain

_REMEDY = " Mend or delete it, or pass skip_bad=True to leave out samples that can't be read."


@dataclass(frozen=True)
class Work:
    """The work to do for each sample.

    Attributes:
        function: a function from the position and index of a sample (int64 scalars), and its
            fetched tensor, to its tensors. It must not fail for a mark (see `Order.dataset`), for
            which it may return any value.
        fetch: a function from the index of a sample to a tensor, called ahead of `function`; None:
            nothing is fetched.
        fetches: the number of fetches at once.
    """

    function: Callable[..., tuple[tf.Tensor, ...]]
    fetch: Callable[[tf.Tensor], tf.Tensor] | None = None
    fetches: int = 1


def strict_map(order: Order, first: int, work: Work, problems: Problems) -> Any:
    """Returns a dataset that ends with an error at the first sample that fails.

    Args:
        order: the order of the samples.
        first: the first position.
        work: the work to do for each sample.
        problems: diagnoses the samples for which the work failed.

    Returns:
        Elements ((position, number), (position, number, *results)). The position and number occur
        twice, because extracting a part of an element would cost more.
    """
    indices = order.batches(first, 1)
    pairs = tf.data.Dataset.zip((indices, _results(indices, work)))

    @plain
    def is_sample(index: tuple[tf.Tensor, ...], result: tuple[tf.Tensor, ...]) -> tf.Tensor:
        position, number = index
        # Results are only ever dropped, so the first difference shows a missing result.
        fine = tf.equal(position, result[0])
        return tf.cond(fine, lambda: number < order.samples, lambda: _fail(number, problems))

    return pairs.filter(is_sample)


def strict_batches(
    order: Order, first: int, work: Work, problems: Problems, size: int, full: bool
) -> Any:
    """Like `strict_map`, but checks whole batches, which costs almost nothing.

    Args:
        size: the number of samples in a batch.
        full: whether to leave out a smaller last batch.
    """
    indices = order.batches(first, size)
    # TensorFlow fuses map and batch into one operation if nothing is between them.
    results = _map(indices, work).batch(size, drop_remainder=True).ignore_errors()
    pairs = tf.data.Dataset.zip((indices.batch(size, drop_remainder=True), results))

    @plain
    def is_batch(index: tuple[tf.Tensor, ...], result: tuple[tf.Tensor, ...]) -> tf.Tensor:
        positions, numbers = index
        fine = tf.equal(positions[0], result[0][0]) & tf.equal(positions[-1], result[0][-1])
        # Marks follow samples, so the first number shows if the batch has samples, the last if it
        # has no marks.
        number = numbers[-1 if full else 0]
        return tf.cond(fine, lambda: number < order.samples, lambda: _fail(numbers, problems))

    @plain
    def without_marks(index: tuple[tf.Tensor, ...], result: tuple[Any, ...]) -> Any:
        count = tf.math.count_nonzero(index[1] < order.samples)
        return tf.nest.map_structure(lambda tensor: tensor[:count], (index, result))

    batches = pairs.filter(is_batch)
    return batches if full else batches.map(without_marks)


def tolerant_map(order: Order, first: int, work: Work, skipped: Skipped) -> Any:
    """Like `strict_map`, but leaves out samples that fail, and reports them to `skipped`.

    The dataset ends with an error if a whole epoch has no good sample.
    """

    @plain
    def step(
        state: tuple[tf.Tensor, tf.Tensor], result: tuple[tf.Tensor, ...]
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Any]:
        expected, good = state
        position, number = result[:2]
        ends = tf.equal(number, order.samples)
        told = tf.cond(
            (position > expected) | ends,
            lambda: _tell(skipped, expected, position, ends, good),
            lambda: tf.constant(True),
        )
        with tf.control_dependencies([told]):
            good = tf.where(ends, tf.zeros_like(good), good + 1)
        # After the end of an epoch, expect this worker's first position in the next epoch.
        after = position + tf.math.floormod(order.shard - position, order.shards)
        return (tf.where(ends, after, position + order.shards), good), (result[:2], result)

    results = _results(order.dataset(first), work)
    start = (tf.constant(first, tf.int64), tf.constant(0, tf.int64))
    both = results.scan(start, step)
    return both.filter(plain(lambda index, result: index[1] < order.samples))


def _results(indices: Any, work: Work) -> Any:
    """Returns (position, number, *results) of all samples for which the work succeeds."""
    return _map(indices, work).ignore_errors()


def _map(indices: Any, work: Work) -> Any:
    source, fetch = indices, work.fetch
    if fetch is not None:
        source = indices.map(
            plain(lambda position, number: (position, number, fetch(number))),
            num_parallel_calls=work.fetches,
            deterministic=True,
        ).ignore_errors()
    # Use the map of TensorFlow 2: TensorFlow 1's takes some errors for the end of the data.
    return tf.compat.v2.data.Dataset.map(
        source,
        plain(lambda *index: (*index[:2], *work.function(*index))),
        num_parallel_calls=tf.data.experimental.AUTOTUNE,
        deterministic=True,
    )


def _fail(numbers: tf.Tensor, problems: Problems) -> tf.Tensor:
    bad: list[str] = []

    def fail(found: Any) -> bool:
        samples = found.ravel().tolist()
        known = problems.bad(samples)
        if known:
            bad.append(known)
        # Behind a missing result all others are at wrong positions: the first fault is theirs too.
        raise MoxValueError((bad[0] if bad else problems.first(samples)) + _REMEDY)

    return _python(fail, numbers)


def _tell(skipped: Skipped, *arguments: tf.Tensor) -> tf.Tensor:
    def tell(expected: Any, position: Any, ends: Any, good: Any) -> bool:
        skipped.add(int(expected), int(position))
        if ends:
            skipped.end_epoch(int(position), int(good))
        return True

    return _python(tell, *arguments)


def _python(function: Callable[..., bool], *arguments: tf.Tensor) -> tf.Tensor:
    # An exception in a Python function ends the data with an error whose text, unlike an
    # assertion's, keeps file names unchanged.
    done = tf.numpy_function(function, arguments, tf.bool)
    done.set_shape([])
    return done
