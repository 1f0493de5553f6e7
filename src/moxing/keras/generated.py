"""Makes a tf.data.Dataset of batches that Python makes: a keras.utils.Sequence or a generator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from moxing.errors import MoxTypeError, MoxValueError, shown

_NAMES = ("PyDataset", "Sequence")
# Like Keras, compares this number of batches, to find the dimensions that differ between batches.
_COMPARED = 2


def is_generated(data: Any) -> bool:
    """Whether data is a PyDataset or Sequence of Keras, or a Python generator."""
    return isinstance(data, Generator) or _is_sequence(data)


def dataset(data: Any, name: str, again: Callable[[], Any] | None = None) -> tf.data.Dataset:
    """Makes a dataset of the batches; call it in the eager runtime.

    Args:
        data: a PyDataset or Sequence of Keras, or a generator, of batches x, (x, y) or
            (x, y, sample_weight). As in Keras, float64 becomes float32, and the first dimension of
            every array is the number of samples, which may differ between batches.
        name: the argument's name, for messages.
        again: returns the data anew, for a further pass over it; None: a generator goes on.

    Raises:
        MoxTypeError, MoxValueError: there is no batch, or a batch is not made of arrays.
    """
    if _is_sequence(data):
        count = getattr(data, "num_batches", None) if hasattr(data, "num_batches") else len(data)
        numbers = range(count) if count is not None else range(_COMPARED)
        first = [data[number] for number in numbers[:_COMPARED]]
        return _made(first, name, lambda: _pass(data, count), count)
    first = list(itertools.islice(data, _COMPARED))
    left = itertools.chain(first, data)
    passes = itertools.count()

    def batches() -> Iterator[Any]:
        return left if again is None or next(passes) == 0 else iter(again())

    return _made(first, name, batches, None)


def _is_sequence(data: Any) -> bool:
    return any(
        kind.__name__ in _NAMES and kind.__module__.split(".")[0] in ("keras", "tf_keras")
        for kind in type(data).__mro__
    )


def _pass(data: Any, count: int | None) -> Iterator[Any]:
    """Yields the batches of an epoch, around which Keras calls the data's own methods."""
    getattr(data, "on_epoch_begin", lambda: None)()
    for number in range(count) if count is not None else itertools.count():
        yield data[number]
    getattr(data, "on_epoch_end", lambda: None)()


def _made(
    first: list[Any], name: str, batches: Callable[[], Iterable[Any]], count: int | None
) -> tf.data.Dataset:
    if not first:
        raise MoxValueError(
            f"{name} ended before its first batch: the generator or Sequence has none."
        )
    signature = _signature([_batch(batch, name) for batch in first], name)

    def converted() -> Iterator[Any]:
        for batch in batches():
            yield _batch(batch, name)

    made = tf.data.Dataset.from_generator(converted, output_signature=signature)
    return made if count is None else made.apply(tf.data.experimental.assert_cardinality(count))


def _signature(batches: list[Any], name: str) -> Any:
    """Returns the specs that hold for all these batches."""

    def spec(*arrays: np.ndarray) -> tf.TensorSpec:
        if any(array.ndim == 0 or array.ndim != arrays[0].ndim for array in arrays):
            raise MoxValueError(
                f"{name} has batches with arrays of shapes {[array.shape for array in arrays]};"
                " each array needs samples along its first axis, and one number of axes."
            )
        sizes = [{array.shape[axis] for array in arrays} for axis in range(1, arrays[0].ndim)]
        shape = [None, *(size.pop() if len(size) == 1 else None for size in sizes)]
        return tf.TensorSpec(shape, tf.as_dtype(arrays[0].dtype))

    try:
        return tf.nest.map_structure(spec, *batches)
    except (TypeError, ValueError) as error:
        if isinstance(error, MoxValueError):
            raise
        raise MoxValueError(f"{name} has batches of different structures: {error}") from error


def _batch(batch: Any, name: str) -> Any:
    """Converts a batch to a tuple of x and, if given, y and sample_weight, of arrays."""
    parts = list(batch) if isinstance(batch, tuple) else [batch]
    while len(parts) > 1 and parts[-1] is None:
        parts.pop()
    if not 1 <= len(parts) <= 3 or any(part is None for part in parts):
        raise MoxTypeError(
            f"{name} gives a batch of {len(parts)} parts; it must be x, (x, y) or"
            " (x, y, sample_weight)."
        )
    return tuple(_arrays(part, name) for part in parts)


def _arrays(part: Any, name: str) -> Any:
    if isinstance(part, dict):
        return {key: _arrays(value, name) for key, value in part.items()}
    # tf.data takes a tuple for several tensors, and would make one tensor of a list.
    if isinstance(part, tuple) or (isinstance(part, list) and part and hasattr(part[0], "shape")):
        return tuple(_arrays(value, name) for value in part)
    array = np.asarray(part)
    if array.dtype == object:
        raise MoxTypeError(f"{name} gives a batch with {shown(part)}; arrays are needed.")
    return array.astype(np.float32) if array.dtype == np.float64 else array
