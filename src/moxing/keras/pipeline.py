"""Builds the input of a run's graph: batches of the data, or this process's shares of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.errors import MoxNotSupportedError
from moxing.keras import imported, shards
from moxing.keras.building.trace import eager_mode
from moxing.keras.data import Arrays, Made

_PREFETCH = 2
_EPOCHS = 1 << 40


class Pipeline:
    """Builds the input of a run.

    Args:
        data: the data to read.
        shuffle: whether arrays are read in a new order each epoch.
        devices: the number of devices of this process; each device gets a share of a batch.
        index, size: the index of this process, and the number of processes.
        parts: the number of parts in which each device gets its share, one after another.
        passes: whether the data is read once, not over and over, and each device gets whole
            batches, not shares.
        limit: the number of batches after which a pass ends; None: at the end of the data.
    """

    def __init__(
        self,
        data: Arrays | Made,
        shuffle: bool,
        devices: int,
        index: int,
        size: int,
        parts: int = 1,
        passes: bool = False,
        limit: int | None = None,
    ) -> None:
        self._data, self._shuffle, self._passes, self._limit = data, shuffle, passes, limit
        self._devices, self._index, self._size, self._parts = devices, index, size, parts
        # The structure of train_step's argument; known once `input_fn` was called.
        self._structure: Any = None
        # The index of the flat tensor that is moved to the front; it has a row per sample.
        self._front = 0

    @property
    def _shares(self) -> int:
        return 1 if self._passes else self._at_once * self._parts

    @property
    def _at_once(self) -> int:
        """The number of shares that all devices compute at the same time."""
        own = isinstance(self._data, Made) and self._data.own
        return self._devices if own else self._devices * self._size

    def input_fn(self, mode: str) -> list[tf.Tensor]:
        """Returns the flat tensors of one share, and the scalar factor of its gradients."""
        del mode
        start = feed.current().steps
        if isinstance(self._data, Arrays):
            dataset = self._of_arrays(self._data, start)
        else:
            dataset = self._of_dataset(self._data)
        iterator = tf.data.make_initializable_iterator(dataset.prefetch(_PREFETCH * self._devices))
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        tensors = list(iterator.get_next())
        if isinstance(self._data, Arrays):
            feed.register(tensors[0].op, None)
        elif self._data.batches is not None and not self._passes and not imported.draws():
            feed.repeats_after(self._data.batches * self._parts)
        return tensors

    def pack(self, flat: Sequence[tf.Tensor]) -> Any:
        """Packs the flat tensors of a share into the argument of train_step."""
        ordered = list(flat)
        ordered.insert(self._front, ordered.pop(0))
        return tf.nest.pack_sequence_as(self._structure, ordered, expand_composites=True)

    def element(self, flat: Sequence[tf.TensorSpec]) -> tuple[Any, ...]:
        """Returns the specs of a batch: of x and, if given, y and sample_weight.

        Args:
            flat: the specs of the flat tensors of a share.
        """
        if isinstance(self._data, Arrays):
            return self.pack(flat)
        found = self._structure
        return found if isinstance(found, tuple) else (found,)

    def _of_arrays(self, data: Arrays, start: int) -> Any:
        """Returns a dataset of shares of batches, gathered by the indices of their samples."""
        arrays = [imported.held(array) for array in tf.nest.flatten(data.nest)]
        self._structure = data.nest
        batches, count = data.batches, data.samples
        order = feed.current().seed
        order = feed.current().order or 0 if order is None else order

        def epoch(number: tf.Tensor) -> Any:
            numbers = tf.range(count, dtype=tf.int64)
            if self._shuffle:
                seed = tf.stack([tf.constant(order % (1 << 62), tf.int64), number])
                numbers = tf2.random.experimental.stateless_shuffle(numbers, seed)
            size = tf.constant(data.batch_size, tf.int64)
            return tf.data.Dataset.range(batches).map(
                lambda batch: numbers[batch * size : tf.minimum((batch + 1) * size, count)]
            )

        numbers = tf.data.Dataset.range(start // batches, _EPOCHS).flat_map(epoch)
        numbers = numbers.skip(start % batches)
        shared = self._shared(self._ended(numbers, batches).map(lambda n: (n,)))

        def gather(taken: tf.Tensor, scale: tf.Tensor) -> tuple[tf.Tensor, ...]:
            parts = [tf.gather(array, taken) for array in arrays]
            if self._shares == 1 and count % data.batch_size == 0:
                for part in parts:
                    part.set_shape([data.batch_size, *part.shape[1:]])
            return (*parts, scale)

        return shared.map(gather, num_parallel_calls=tf.data.experimental.AUTOTUNE)

    def _of_dataset(self, data: Made) -> Any:
        with eager_mode():
            batched = data.batched
        dataset = imported.dataset(batched)
        self._structure = tf.data.experimental.get_structure(dataset)
        if (
            any(
                isinstance(spec, tf.RaggedTensorSpec | tf.SparseTensorSpec)
                for spec in tf.nest.flatten(self._structure)
            )
            and self._shares > 1
        ):
            raise MoxNotSupportedError(
                "train_data has sparse or ragged tensors, which can't be shared out to several"
                " devices or processes, or in parts. Make them dense in the dataset, or train on"
                " one device without accumulate_steps."
            )
        self._front = _front(self._structure)

        def flatten(*element: Any) -> tuple[tf.Tensor, ...]:
            tensors = tf.nest.flatten(_element(element), expand_composites=True)
            return (tensors.pop(self._front), *tensors)

        flat = dataset.map(flatten)
        return self._shared(self._ended(flat, None) if self._passes else flat.repeat())

    def _ended(self, batches: Any, whole: int | None) -> Any:
        """Returns the batches of a pass, or all batches if the data is read over and over.

        Args:
            batches: a dataset of batches.
            whole: the number of batches in a pass; None: the dataset ends by itself.
        """
        limits = [limit for limit in (whole, self._limit) if limit is not None]
        return batches.take(min(limits)) if self._passes and limits else batches

    def _shared(self, batches: Any) -> Any:
        """Returns a dataset of this process's shares of each batch in turn, with their factors."""
        shares, devices = self._shares, self._devices
        one = tf.constant(1.0)
        if shares == 1:
            return batches.map(lambda *flat: (*flat, one))
        own = isinstance(self._data, Made) and self._data.own
        first = 0 if own else self._index * devices

        def share(number: tf.Tensor, flat: Sequence[tf.Tensor]) -> tuple[tf.Tensor, ...]:
            size = tf.shape(flat[0], out_type=tf.int64)[0]
            low, high, factor = shards.bounds(size, number, shares)
            return (*(tensor[low:high] for tensor in flat), factor)

        if devices == self._parts == 1:
            return batches.map(
                lambda *flat: share(tf.constant(first, tf.int64), flat),
                num_parallel_calls=tf.data.experimental.AUTOTUNE,
            )
        return batches.flat_map(
            lambda *flat: tf.data.Dataset.range(self._parts * devices).map(
                lambda number: share(
                    number // devices * self._at_once + first + number % devices, flat
                )
            )
        )


def _front(structure: Any) -> int:
    """Returns the index of a flat tensor whose first dimension counts samples."""
    position = 0
    for spec in tf.nest.flatten(structure):
        if isinstance(spec, tf.TensorSpec):
            return position
        position += len(tf.nest.flatten(spec, expand_composites=True))
    return 0


def _element(arguments: Any) -> Any:
    """Returns the element that a map function got: a tuple's parts, or a single element."""
    return arguments if len(arguments) > 1 else arguments[0]
