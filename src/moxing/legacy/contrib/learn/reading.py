"""`tf.contrib.learn`'s functions that read batches of examples from files, by queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def read_batch_examples(
    file_pattern: str | Sequence[str],
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Returns a batch of serialized examples, read from files by queues.

    Args:
        file_pattern: a pattern of files, or a list of those.
        batch_size: the number of examples in a batch.
        reader: makes the reader, such as `tf.TFRecordReader`.
        randomize_input: whether files and examples are shuffled.
        num_epochs: the number of passes through the files; None: no end.
        queue_capacity, num_threads, seed: see `tf.train.shuffle_batch`.
        read_batch_size: not used.
        parse_fn: a function of one example; None: examples stay strings.
        name: the name of the operations.

    Raises:
        MoxValueError: no file matches.
    """
    del read_batch_size
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    files = [path for pattern in patterns for path in sorted(tf.gfile.Glob(pattern))]
    if not files:
        raise MoxValueError(f"read_batch_examples: no file matches {', '.join(patterns)}.")
    with tf.name_scope(name, "read_batch_examples"):
        queue = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=randomize_input, seed=seed
        )
        _, example = reader().read(queue)
        made = parse_fn(example) if parse_fn is not None else example
        made = [made] if isinstance(made, tf.Tensor) else made
        ends = num_epochs is not None
        if randomize_input:
            least = max(queue_capacity - 3 * batch_size, batch_size)
            return tf.train.shuffle_batch(
                made,
                batch_size,
                least + 3 * batch_size,
                min(least, 1000),
                num_threads,
                seed,
                allow_smaller_final_batch=ends,
            )
        return tf.train.batch(made, batch_size, 1, queue_capacity, allow_smaller_final_batch=ends)


def read_batch_features(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Returns a batch of parsed examples, by the names of their features.

    Args:
        features: see `tf.io.parse_example`.
        feature_queue_capacity, num_enqueue_threads: not used.
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
            reader_num_threads, parse_fn, name: see `read_batch_examples`.
        **others: not used.
    """
    del feature_queue_capacity, num_enqueue_threads, others
    examples = read_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads,
        parse_fn=parse_fn,
        name=name,
    )
    return tf.parse_example(examples, dict(features))


def select_last_activations(activations: Any, sequence_lengths: Any) -> Any:
    """Returns the last step's activations of each sequence.

    Args:
        activations: a tensor [batch, time, depth].
        sequence_lengths: a tensor [batch] of integers, at least 1.

    Returns:
        A tensor [batch, depth].
    """
    with tf.name_scope("select_last_activations"):
        lengths = tf.cast(sequence_lengths, tf.int32)
        rows = tf.range(tf.shape(activations)[0])
        return tf.gather_nd(activations, tf.stack([rows, lengths - 1], axis=1))
