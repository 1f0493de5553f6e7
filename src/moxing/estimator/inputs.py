"""`tf.estimator.inputs`: input functions over arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown


class ArraysInput:
    """An input function over arrays: an Estimator reads its Dataset, a program its tensors.

    Programs unpack what such a function returns (`features, labels = input_fn()`), as it was
    tensors in TensorFlow 1.x. An Estimator that is given the function itself divides, counts and
    resumes the Dataset.
    """

    def __init__(self, dataset: Callable[[], tf.data.Dataset]) -> None:
        self.dataset = dataset

    def __call__(self) -> Any:
        """Returns the tensors of the next batch; in eager execution, the Dataset."""
        made = self.dataset()
        if tf.executing_eagerly():
            return made
        return tf.data.make_one_shot_iterator(made).get_next()


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> ArraysInput:
    """Returns an input function over arrays; the arrays are not stored in the graph.

    Args:
        x: the features: an array, or a dict of arrays of equal length.
        y: the labels: an array, a dict of arrays, or None.
        batch_size: the number of examples in a batch; the last batch may have fewer.
        num_epochs: the number of passes of each thread through the data; None: no end.
        shuffle: whether to shuffle the examples before each pass; must be given.
        queue_capacity: not used: the shuffle covers all examples.
        num_threads: multiplies the passes, as each thread made them for itself.

    Returns:
        A function that returns the tensors of a batch, features or (features, labels).

    Raises:
        MoxValueError: `shuffle` is missing, a dict is empty, or the arrays' lengths differ.
        MoxTypeError: a value is not an array of examples.
    """
    del queue_capacity
    if not isinstance(shuffle, bool):
        raise MoxValueError(
            f"numpy_input_fn has shuffle={shown(shuffle)}; it must be True (to train) or False (to"
            " evaluate)."
        )
    features = _arrays("x", x)
    labels = [] if y is None else _arrays("y", y)
    arrays = [array for _, array in (*features, *labels)]
    if len({len(array) for array in arrays}) != 1:
        lengths = ", ".join(f"{name}: {len(array)}" for name, array in (*features, *labels))
        raise MoxValueError(f"numpy_input_fn needs as many examples in every array ({lengths}).")
    count = len(arrays[0])
    types = [tf.as_dtype(array.dtype) for array in arrays]

    def take(indices: Any) -> list[Any]:
        return [array[indices] for array in arrays]

    def batch(indices: Any) -> Any:
        taken = tf.numpy_function(take, [indices], types, stateful=False)
        for tensor, array in zip(taken, arrays, strict=True):
            tensor.set_shape([None, *array.shape[1:]])
        inside = _rebuilt(x, taken[: len(features)])
        return inside if y is None else (inside, _rebuilt(y, taken[len(features) :]))

    passes = None if num_epochs is None else num_epochs * max(num_threads, 1)

    def dataset() -> tf.data.Dataset:
        indices = tf.data.Dataset.range(count)
        if shuffle:
            indices = indices.shuffle(count)
        return indices.repeat(passes).batch(batch_size).map(batch).prefetch(2)

    return ArraysInput(dataset)


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> ArraysInput:
    """Returns an input function over the columns of a pandas DataFrame; see `numpy_input_fn`.

    Args:
        x: a DataFrame whose columns are the features, by name.
        y: the labels: a Series or DataFrame with rows in the order of x, or None.
        batch_size, num_epochs, shuffle, queue_capacity, num_threads: see `numpy_input_fn`.
        target_column: not used.
    """
    del target_column
    features = {str(name): np.asarray(x[name]) for name in x.columns}
    labels = None if y is None else np.asarray(y)
    return numpy_input_fn(
        features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )


def _arrays(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if not value:
            raise MoxValueError(f"numpy_input_fn has an empty dict as {name}.")
        return [(f"{name}[{key!r}]", _array(name, item)) for key, item in value.items()]
    return [(name, _array(name, value))]


def _array(name: str, value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype == object and all(isinstance(item, str | bytes) for item in array.flat):
        array = np.array(
            [item if isinstance(item, bytes) else item.encode() for item in array.flat]
        ).reshape(array.shape)  # A pandas column of strings has the dtype object.
    if array.ndim == 0 or array.dtype == object:
        raise MoxTypeError(
            f"numpy_input_fn has {name}={shown(value)}; it must be an array of examples."
        )
    return array


def _rebuilt(like: Any, tensors: Any) -> Any:
    if isinstance(like, Mapping):
        return dict(zip(like, tensors, strict=True))
    return tensors[0]
