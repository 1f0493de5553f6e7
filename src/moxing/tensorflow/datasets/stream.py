"""Builds the pipeline from samples to the tensors that a program reads."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import feed, fusion
from moxing.engine.data.fusion import Batch
from moxing.engine.graph import run_context
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import seeded
from moxing.tensorflow.datasets.decoding import guard
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.decoding.skipped import Skipped
from moxing.tensorflow.datasets.order import Order, plain

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: multiples of it are far apart.

# Calls a program's function with tensors, so that its random numbers depend on the seed.
Call = Callable[..., Any]
# A function from a sample's index, its seed (int64 [2]), a Call and, if the file was read ahead,
# the content of its file, to the tensors of the sample.
Read = Callable[..., tuple[Any, ...]]
# A function from a Call and the tensors of a sample or batch to the same number of tensors.
Change = Callable[..., Sequence[tf.Tensor]]


@dataclass(frozen=True)
class Settings:
    """How a reader reads.

    Attributes:
        epochs: the number of passes over the samples; None: no end.
        shuffle: whether each epoch has a random order.
        batch_size: the number of samples in a batch, the size of a new first dimension; None:
            single samples, without that dimension.
        drop_remainder: whether to leave out a last batch that is not full. There is at most one,
            because batches cross the ends of epochs.
        skip_bad: whether to leave out samples that can't be read.
        private_threads: the size of a private thread pool; 0: use the process's pool.
        files_at_once: the number of files to read at once, ahead of decoding; None: read each file
            when it is decoded.
    """

    epochs: int | None = None
    shuffle: bool = True
    batch_size: int | None = None
    drop_remainder: bool = False
    skip_bad: bool = False
    private_threads: int = 0
    files_at_once: int | None = None

    @property
    def full(self) -> bool:
        """Whether all batches are full, as without an end, so that their size is static."""
        return self.drop_remainder or self.epochs is None


@dataclass(frozen=True)
class Samples:
    """The samples of a reader.

    Attributes:
        count: the number of samples, at least 1.
        connect: makes, in the current graph, the function that reads a sample. For the index
            `count`, which marks the ends of epochs, the function returns any value, but does not
            fail.
        problems: diagnoses samples that can't be read.
        connect_fetch: makes, in the current graph, the function from a sample's index to the last
            argument of a Read; used if `Settings.files_at_once` is set.
    """

    count: int
    connect: Callable[[], Read]
    problems: Problems
    connect_fetch: Callable[[], Callable[[tf.Tensor], tf.Tensor]] | None = None


@dataclass(frozen=True)
class Stage:
    """One of a reader's successive parts.

    Attributes:
        samples: the samples to read.
        settings: how to read them.
        per_sample: the program's function of the tensors of a sample.
        per_batch: the program's function of the tensors of a batch, or of a sample if there are no
            batches.
        elements: the maximum number of samples or batches in the stage; None: all.
    """

    samples: Samples
    settings: Settings
    per_sample: Change | None = None
    per_batch: Change | None = None
    elements: int | None = None


# A function from a change of the samples' first tensor to samples that include this change.
Fuse = Callable[[Any], Samples]


def open_stream(*stages: Stage, fuse: Fuse | None = None) -> list[tf.Tensor]:
    """Returns the tensors of the next sample or batch of the stages in turn, in the current graph.

    Args:
        stages: one or more stages.
        fuse: for a single stage of unchanged samples: merges a `preprocessing.Augmentation` of
            their first tensor into reading.
    """
    demand = feed.current()
    seed = demand.order if demand.seed is None else demand.seed
    seed = secrets.randbits(62) if seed is None else seed
    seeds = [_own_seeds(seed) for _ in stages]
    with tf.device("/cpu:0"), tf.name_scope("reader"):
        tensors = _next(_whole(stages, seeds, demand), stages[0].settings)
    if fuse is not None:
        [stage] = stages

        def rebuild(change: Any, batch: Batch | None) -> Any:
            settings, place = stage.settings, demand
            if batch is not None:
                everywhere = demand.taken
                if demand.start % batch.size or (everywhere or 0) % batch.size:
                    return None
                if everywhere is not None:
                    everywhere //= batch.size
                settings = dataclasses.replace(
                    settings, batch_size=batch.size, drop_remainder=batch.full
                )
                place = dataclasses.replace(
                    demand, start=demand.start // batch.size, taken=everywhere
                )
            with tf.device("/cpu:0"), tf.name_scope("reader"):
                return _ahead(_whole([Stage(fuse(change), settings)], seeds, place), settings)

        fusion.offer(tensors[0], rebuild)
    return tensors


def _whole(stages: Sequence[Stage], seeds: Sequence[tuple[int, int]], demand: feed.Feed) -> Any:
    """Returns the elements of all stages, without the elements that earlier runs took."""
    taken = demand.start
    datasets = []
    for stage, own in zip(stages, seeds, strict=True):
        done = taken if stage.elements is None else min(taken, stage.elements)
        taken -= done
        if done != stage.elements:
            datasets.append(_dataset(stage, done, demand, *own))
    if not datasets:  # All elements are taken: return an empty dataset of the same structure.
        datasets.append(_dataset(stages[-1], 0, demand, 0, 0).take(0))
    whole = datasets[0]
    for dataset in datasets[1:]:
        whole = whole.concatenate(dataset)
    return whole


def _dataset(stage: Stage, taken: int, demand: feed.Feed, order_seed: int, sample_seed: int) -> Any:
    """Returns elements (index, (position, number, *tensors)) of a stage after the first `taken`."""
    samples, settings = stage.samples, stage.settings
    order = Order(
        samples.count,
        settings.epochs,
        settings.shuffle,
        order_seed,
        demand.shard,
        demand.shards,
    )
    taken_samples = taken * (settings.batch_size or 1)
    everywhere = demand.taken
    if everywhere and stage.elements is None and taken == demand.start and settings.batch_size:
        # With another number of workers before, this may not be a whole number of batches.
        everywhere *= settings.batch_size
        taken_samples = feed.own_start(everywhere, demand.shard, demand.shards)
    bad = _find_bad(samples, settings) if settings.skip_bad and taken_samples else ()
    first = order.first_position(taken_samples, bad)
    work = _work(samples, settings, sample_seed, demand.seed)
    size = settings.batch_size
    if size is None or settings.skip_bad or stage.per_sample is not None:
        dataset = _changed(_one_by_one(samples, settings, order, first, work), stage, demand.seed)
    else:
        batches = guard.strict_batches(order, first, work, samples.problems, size, settings.full)
        dataset = _by_batch(batches, stage.per_batch, demand.seed)
    return dataset if stage.elements is None else dataset.take(stage.elements - taken)


def _own_seeds(seed: int) -> tuple[int, int]:
    """Returns the seeds of this reader's order and of its samples, unique in the graph.

    With equal seeds, two readers of one folder would always yield the same image.
    """
    run = run_context.current()
    sample_seed = _int64(seed + run.reader_count * _GOLDEN)
    run.reader_count += 1
    return _int64(~sample_seed * _GOLDEN), sample_seed


def _int64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _work(samples: Samples, settings: Settings, seed: int, demanded: int | None) -> guard.Work:
    read = samples.connect()

    def function(
        position: tf.Tensor, number: tf.Tensor, *fetched: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        def call(function: Callable[..., Any], *tensors: Any) -> Any:
            return seeded.call(function, tensors, demanded, position)

        return read(number, tf.stack([tf.constant(seed, tf.int64), position]), call, *fetched)

    if settings.files_at_once and samples.connect_fetch is not None:
        return guard.Work(function, samples.connect_fetch(), settings.files_at_once)
    return guard.Work(function)


def _one_by_one(
    samples: Samples, settings: Settings, order: Order, first: int, work: guard.Work
) -> Any:
    if settings.skip_bad:
        skipped = Skipped(order, samples.problems)
        return guard.tolerant_map(order, first, work, skipped)
    return guard.strict_map(order, first, work, samples.problems)


def _find_bad(samples: Samples, settings: Settings) -> set[int]:
    """Reads every sample; returns the indices of the samples that can't be read."""
    TENSORFLOW.info(
        "Reading all %d samples once, because with skip_bad=True the place where this run goes on"
        " depends on which can't be read.",
        samples.count,
    )
    with tf.Graph().as_default(), tf.Session() as session:
        order = Order(samples.count, 1, shuffle=False, seed=0)
        skipped = Skipped(order, samples.problems)
        work = _work(samples, settings, 0, None)
        checked = guard.tolerant_map(order, 0, work, skipped)
        (position, _), _ = tf.data.make_one_shot_iterator(checked).get_next()
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                session.run(position)
    return set(skipped.bad)


def _changed(dataset: Any, stage: Stage, seed: int | None) -> Any:
    """Applies the program's functions to samples, and batches them."""
    settings = stage.settings
    if stage.per_sample is not None:
        dataset = _map(dataset, stage.per_sample, seed)
    if settings.batch_size is not None:
        dataset = dataset.batch(settings.batch_size, drop_remainder=settings.full)
    return _by_batch(dataset, stage.per_batch, seed)


def _by_batch(dataset: Any, change: Change | None, seed: int | None) -> Any:
    return dataset if change is None else _map(dataset, change, seed)


def _map(dataset: Any, change: Change, seed: int | None) -> Any:
    @plain
    def apply(index: Any, result: tuple[tf.Tensor, ...]) -> tuple[Any, tuple[tf.Tensor, ...]]:
        number = tf.reshape(index[0], [-1])[0]

        def call(function: Callable[..., Any], *tensors: tf.Tensor) -> Any:
            return seeded.call(function, tensors, seed, number)

        return index, (*index, *change(call, *result[2:]))

    return dataset.map(apply, num_parallel_calls=tf.data.experimental.AUTOTUNE, deterministic=True)


def _ahead(dataset: Any, settings: Settings) -> Any:
    """Returns the dataset with prefetching, and with its thread pool."""
    threads = settings.private_threads
    if settings.files_at_once:
        # Add threads for decoding, because the threads that wait for files can't decode.
        threads = max(threads, settings.files_at_once + len(os.sched_getaffinity(0)))
    if threads:
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        dataset = dataset.with_options(options)
    return dataset.prefetch(tf.data.experimental.AUTOTUNE)


def _next(dataset: Any, settings: Settings) -> list[tf.Tensor]:
    # A one-shot iterator needs no initializer, which programs with their own session would miss.
    (position, _), (_, _, *tensors) = tf.data.make_one_shot_iterator(
        _ahead(dataset, settings)
    ).get_next()
    feed.register(position.op, None if settings.batch_size else position)
    return tensors
