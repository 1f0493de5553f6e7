"""`tf.contrib.training`'s buckets: queues that batch elements of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns batches of elements of the same bucket.

    `tf.train.start_queue_runners` starts the threads that fill the buckets.

    Args:
        tensors: the tensors of one element, a list or a dict.
        which_bucket: the index of the element's bucket, an int32 scalar.
        batch_size: the batch size of all buckets, or a list with one per bucket.
        num_buckets: the number of buckets, at least 2.
        num_threads: the number of threads that fill the buckets.
        capacity: the maximum number of finished batches that wait to be dequeued.
        bucket_capacities: the maximum number of elements in each bucket; `capacity` by default.
        shapes: the shapes of the tensors.
        dynamic_pad: whether elements are padded with zeros to the longest element of their batch.
        allow_smaller_final_batch: whether the last batch of a bucket may be smaller.
        keep_input: whether the element is used, a boolean scalar.
        shared_name: not used: processes do not share these queues.
        name: the name of the operations.

    Returns:
        The index of the batch's bucket, and the batch in the structure of `tensors`.

    Raises:
        MoxValueError: there are fewer than two buckets, or not one batch size per bucket.
    """
    if num_buckets < 2:
        raise MoxValueError(f"num_buckets must be >= 2, not {num_buckets}.")
    sizes = (
        list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    )
    if len(sizes) != num_buckets:
        raise MoxValueError(f"batch_size must have {num_buckets} entries, not {len(sizes)}.")
    keys = sorted(tensors) if isinstance(tensors, dict) else None
    given = [tensors[key] for key in keys] if keys else list(tensors)
    with tf.name_scope(name, "bucket", given):
        parts = [tf.convert_to_tensor(part) for part in given]
        capacities = list(bucket_capacities or [capacity] * num_buckets)
        queues = _Buckets(parts, shapes, dynamic_pad, capacities)
        ready = queues.batches(sizes, capacity, allow_smaller_final_batch)
        queues.run(which_bucket, keep_input, num_threads)
        which, *batch = ready.dequeue()
        if not allow_smaller_final_batch and len({int(size) for size in sizes}) == 1:
            for part in batch:
                part.set_shape(tf.TensorShape([int(sizes[0])]).concatenate(part.shape[1:]))
    if keys:
        return which, dict(zip(keys, batch, strict=True))
    return which, batch


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Calls `bucket` with a bucket for each range of lengths between the boundaries.

    Bucket 0 has the lengths below the first boundary; bucket i those from
    `bucket_boundaries[i - 1]` up to below `bucket_boundaries[i]`; the last bucket has no upper end.

    Args:
        input_length: the length of the element, an int32 scalar.
        tensors: see `bucket`.
        batch_size: see `bucket`.
        bucket_boundaries: strictly increasing lengths.
        num_threads: see `bucket`.
        capacity: see `bucket`.
        bucket_capacities: see `bucket`.
        shapes: see `bucket`.
        dynamic_pad: see `bucket`.
        allow_smaller_final_batch: see `bucket`.
        keep_input: see `bucket`.
        shared_name: see `bucket`.
        name: see `bucket`.

    Returns:
        The lengths of the batch's elements, and the batch.

    Raises:
        MoxValueError: there are no boundaries, or they do not increase.
    """
    limits = list(bucket_boundaries)
    if not limits or sorted(set(limits)) != limits:
        raise MoxValueError(f"bucket_boundaries must be numbers that increase, not {limits}.")
    length = tf.cast(input_length, tf.int32)
    which = tf.reduce_sum(tf.cast(tf.constant(limits, tf.int32) <= length, tf.int32))
    parts = {f"{at:06d}": part for at, part in enumerate(_flat(tensors))}
    _, batch = bucket(
        {"length": length, **parts},
        which,
        batch_size,
        len(limits) + 1,
        num_threads,
        capacity,
        bucket_capacities,
        None if shapes is None else [*_flat(shapes), []],
        dynamic_pad,
        allow_smaller_final_batch,
        keep_input,
        shared_name,
        name,
    )
    values = [batch[key] for key in parts]
    if isinstance(tensors, dict):
        return batch["length"], dict(zip(sorted(tensors), values, strict=True))
    return batch["length"], values


def _flat(tensors: Any) -> list[Any]:
    return [tensors[key] for key in sorted(tensors)] if isinstance(tensors, dict) else list(tensors)


class _Buckets:
    """A queue for each bucket, and a queue for their batches."""

    def __init__(
        self, parts: list[Any], shapes: Any, dynamic_pad: bool, capacities: list[int]
    ) -> None:
        self._parts = parts
        self._types = [part.dtype for part in parts]
        self._shapes = shapes or [part.shape for part in parts]
        make = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        self._queues = [
            make(capacity, self._types, self._shapes, name=f"bucket_queue_{index}")
            for index, capacity in enumerate(capacities)
        ]

    def batches(self, sizes: list[Any], capacity: int, smaller: bool) -> Any:
        """Makes the queue of (bucket, batch) pairs."""
        ready = tf.FIFOQueue(capacity, [tf.int32, *self._types], name="top_queue")
        enqueues = []
        for index, (queue, size) in enumerate(zip(self._queues, sizes, strict=True)):
            values = queue.dequeue_up_to(size) if smaller else queue.dequeue_many(size)
            values = values if isinstance(values, list) else [values]
            enqueues.append(ready.enqueue([tf.constant(index), *values]))
        self._ready = _Shaped(ready, self._shapes)
        # One thread per bucket: the batches end when all buckets have ended.
        tf.train.add_queue_runner(
            tf.train.QueueRunner(
                ready,
                enqueues,
                queue_closed_exception_types=(
                    tf.errors.OutOfRangeError,
                    tf.errors.CancelledError,
                ),
            )
        )
        return self._ready

    def run(self, which: Any, keep: Any, threads: int) -> None:
        """Makes the operations and threads that fill the buckets."""
        which = tf.cast(which, tf.int32)

        def into(queue: Any) -> Any:
            def enqueue() -> Any:
                with tf.control_dependencies([queue.enqueue(self._parts)]):
                    return tf.constant(True)

            return enqueue

        def put() -> Any:
            return tf.switch_case(which, [into(queue) for queue in self._queues])

        enqueue = tf.cond(tf.cast(keep, tf.bool), put, lambda: tf.constant(False))
        first = self._queues[0]
        close = tf.group(*[queue.close() for queue in self._queues])
        cancel = tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in self._queues])
        tf.train.add_queue_runner(
            tf.train.QueueRunner(first, [enqueue] * threads, close_op=close, cancel_op=cancel)
        )


class _Shaped:
    """A queue of batches whose shapes are known except for the batch size."""

    def __init__(self, queue: Any, shapes: Any) -> None:
        self._queue, self._shapes = queue, shapes

    def dequeue(self) -> list[Any]:
        """Dequeues a bucket's index and its batch."""
        which, *batch = self._queue.dequeue()
        which.set_shape([])
        for part, shape in zip(batch, self._shapes, strict=True):
            part.set_shape(tf.TensorShape([None]).concatenate(shape))
        return [which, *batch]
