"""`tf.contrib.data.Dataset` of TensorFlow 1.2 and 1.3: `num_threads=` and `output_buffer_size=`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops.dataset_ops import DatasetV1Adapter

# Methods that return a dataset; they return one with the old arguments, too.
_SAME = (
    "apply",
    "batch",
    "cache",
    "concatenate",
    "enumerate",
    "filter",
    "flat_map",
    "interleave",
    "padded_batch",
    "prefetch",
    "repeat",
    "shard",
    "shuffle",
    "skip",
    "take",
)
_SOURCES = "from_generator from_sparse_tensor_slices from_tensor_slices from_tensors range zip"


class Dataset(DatasetV1Adapter):
    """A dataset whose methods take the old arguments."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_threads: int | None = None,
        output_buffer_size: int | None = None,
        num_parallel_calls: Any = None,
        **kwargs: Any,
    ) -> Dataset:
        """Maps elements with `num_threads` parallel calls, and prefetches `output_buffer_size`."""
        parallel = num_threads if num_parallel_calls is None else num_parallel_calls
        mapped: Any = DatasetV1Adapter.map(self, map_func, parallel, **kwargs)
        if output_buffer_size:
            mapped = DatasetV1Adapter.prefetch(mapped, output_buffer_size)
        return Dataset(mapped)

    def dense_to_sparse_batch(self, batch_size: Any, row_shape: Any) -> Dataset:
        """Returns a dataset of batches as sparse tensors."""
        return Dataset(tf.data.experimental.dense_to_sparse_batch(batch_size, row_shape)(self))

    def group_by_window(self, key_func: Any, reduce_func: Any, window_size: Any) -> Dataset:
        """Groups elements by key into windows, and reduces each window to a dataset."""

        # The functions of tf.data.experimental would call these methods again.
        def reduce(key: Any, window: Any) -> Any:
            return reduce_func(key, Dataset(window))

        return Dataset(DatasetV1Adapter.group_by_window(self, key_func, reduce, window_size))

    def ignore_errors(self) -> Dataset:
        """Skips elements that raise errors."""
        return Dataset(DatasetV1Adapter.ignore_errors(self))

    def unbatch(self) -> Dataset:
        """Splits batches into elements."""
        return Dataset(DatasetV1Adapter.unbatch(self))


def _method(name: str) -> Callable[..., Dataset]:
    original = getattr(DatasetV1Adapter, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Dataset:
        return Dataset(original(self, *args, **kwargs))

    return call


def _source(name: str) -> staticmethod[..., Dataset]:
    original = getattr(tf.data.Dataset, name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Dataset:
        return Dataset(original(*args, **kwargs))

    return staticmethod(call)


for _name in _SAME:
    setattr(Dataset, _name, _method(_name))
for _name in _SOURCES.split():
    if hasattr(tf.data.Dataset, _name):
        setattr(Dataset, _name, _source(_name))


def TextLineDataset(filenames: Any, **kwargs: Any) -> Dataset:  # noqa: N802, a class's name
    """Returns a dataset of the lines of files."""
    return Dataset(tf.data.TextLineDataset(filenames, **kwargs))


def TFRecordDataset(filenames: Any, *args: Any, **kwargs: Any) -> Dataset:  # noqa: N802
    """Returns a dataset of the records of files."""
    return Dataset(tf.data.TFRecordDataset(filenames, *args, **kwargs))


def FixedLengthRecordDataset(filenames: Any, *args: Any, **kwargs: Any) -> Dataset:  # noqa: N802
    """Returns a dataset of the fixed-length records of files."""
    return Dataset(tf.data.FixedLengthRecordDataset(filenames, *args, **kwargs))
