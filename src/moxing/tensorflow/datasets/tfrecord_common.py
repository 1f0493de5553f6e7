"""A reader of TFRecord files for any kind of records, defined by a subclass or by handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.datasets import arguments, stream, tfrecord_image
from moxing.tensorflow.datasets.stream import Settings, Stage
from moxing.tensorflow.datasets.tfrecord_metadata import (
    BaseTFRecordMetadata,
    ImageClassificationTFRecordMetadata,
)
from moxing.tensorflow.datasets.tfrecords.examples import Examples
from moxing.tensorflow.datasets.tfrecords.handlers import item_builder

__all__ = [
    "BaseTFRecordDataset",
    "BaseTFRecordMetadata",
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
]


class BaseTFRecordDataset:
    """Reads records that are tf.train.Example messages. Create it in `input_fn`.

    A subclass defines the items: its `_build_features` gets the parsed features, in the order of
    feature_keys, and calls `self._add_feature(name, tensor)` for each item:

        class Points(BaseTFRecordDataset):
            def _build_features(self, x, y):
                self._add_feature("point", tf.stack([x, y]))

        dataset = Points(metadata, ["x", "y"], [tf.FixedLenFeature([], tf.float32)] * 2)
        [point] = dataset.get(["point"])

    A subclass as of 2018 needs no feature_keys: its `_parser` gets the content of a record and
    returns tensors, which its `_build_feature` gets and adds.

    Without a subclass, the items are the features, or the items that slim's keys_to_features and
    items_to_handlers define. Every epoch reads all records once. See
    `ImageClassificationRawDataset` for the order, the batches, and the arguments not listed here.

    Args:
        metadata: the files.
        feature_keys: the names of the features to parse.
        feature_values: a `tf.io.FixedLenFeature` or similar for each feature.
        num_parallel: at least 1; has no effect, because the pipeline tunes itself.
        keys_to_features: a dict that replaces feature_keys and feature_values.
        items_to_handlers: a handler for each item, as in slim's tfexample_decoder: an object with
            `keys` and `tensors_to_item`.
        num_readers: an older name of num_parallel.
        skip_bad: whether to leave out, count and report records that are damaged or can't be
            parsed. Otherwise such a record ends the run with an error that names the record and
            its file.
    """

    def __init__(
        self,
        metadata: BaseTFRecordMetadata,
        feature_keys: Sequence[str] | None = None,
        feature_values: Sequence[Any] | None = None,
        shuffle: bool = True,
        num_parallel: int = 8,
        num_epochs: int | None = None,
        batch_size: int | None = None,
        shuffle_buffer_size: int = 6400,
        private_num_threads: int = 0,
        drop_remainder: bool = False,
        skip_bad: bool = False,
        *,
        keys_to_features: Mapping[str, Any] | None = None,
        items_to_handlers: Mapping[str, Any] | None = None,
        num_readers: int | None = None,
    ) -> None:
        self._name = type(self).__name__
        self._metadata = metadata
        arguments.count(self._name, "num_parallel", num_readers or num_parallel, 1)
        arguments.count(self._name, "shuffle_buffer_size", shuffle_buffer_size, 1)
        self._settings = Settings(
            arguments.optional_count(self._name, "num_epochs", num_epochs, 1),
            arguments.flag(self._name, "shuffle", shuffle),
            arguments.optional_count(self._name, "batch_size", batch_size, 1),
            arguments.flag(self._name, "drop_remainder", drop_remainder),
            arguments.flag(self._name, "skip_bad", skip_bad),
            arguments.count(self._name, "private_num_threads", private_num_threads, 0),
        )
        # Methods of subclasses that were written for MoXing of 2018.
        self._parse = getattr(self, "_parser", None)
        self._add = getattr(self, "_build_feature", self._build_features)
        together = {} if self._parse is not None else keys_to_features
        self._keys = self._features(feature_keys, feature_values, together)
        self._handlers = items_to_handlers
        self._items: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}

    def get(self, items: Sequence[str]) -> list[Any]:
        """Returns the tensors of the next record, or batch of records, in the order of `items`.

        Raises:
            MoxValueError: an item is unknown, or files can't be read.
        """
        if not self._tensors:
            records = self._metadata.records(self._settings.skip_bad)
            examples = Examples(records, self._keys, self._build, parse=self._parse)
            samples, names = examples.samples()
            made = stream.open_stream(Stage(samples, self._settings))
            self._tensors = dict(zip(names, made, strict=True))
        wanted = arguments.items(self._name, items, list(self._tensors))
        return [self._tensors[name] for name in wanted]

    def _build_features(self, *values: Any) -> None:
        """Makes items from the parsed features; by default, the features are the items.

        Subclasses override this method.
        """
        for name, value in zip(self._keys, values, strict=True):
            self._add_feature(name, value)

    def _add_feature(self, name: str, tensor: Any) -> None:
        """Adds an item for `get`; called by `_build_features`."""
        self._items[name] = tensor

    def _build(self, parsed: Any, seed: tf.Tensor, call: stream.Call) -> dict[str, Any]:
        del seed
        if self._parse is not None:
            return call(self._items_of, *(parsed if isinstance(parsed, list | tuple) else [parsed]))
        if self._handlers is not None:
            return item_builder(self._keys, self._handlers)(parsed)
        return call(self._items_of, *(parsed[key] for key in self._keys))

    def _items_of(self, *values: Any) -> dict[str, Any]:
        self._items = {}
        self._add(*values)
        if not self._items:
            raise MoxValueError(
                f"{self._name}.{self._add.__name__} added no item: call self._add_feature(name,"
                " tensor)."
            )
        return dict(self._items)

    def _features(
        self,
        keys: Sequence[str] | None,
        values: Sequence[Any] | None,
        together: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        if together is not None:
            return dict(together)
        if keys is None or values is None:
            raise MoxTypeError(f"{self._name} needs feature_keys and feature_values.")
        return arguments.features(self._name, "feature", keys, values)


class ImageClassificationTFRecordDataset(tfrecord_image.ImageClassificationTFRecordDataset):
    """The class of this name of `mox`, at its place of MoXing 1.x and with the arguments of 2018.

    With handlers, `ImageClassificationTFRecordDataset(metadata, keys_to_features,
    items_to_handlers, ...)` returns a `BaseTFRecordDataset`, to which further arguments go by name.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        given = [argument for argument in arguments[1:3] if isinstance(argument, Mapping)]
        if not given and "keys_to_features" not in named:
            return super().__new__(cls)
        order = ("metadata", "keys_to_features", "items_to_handlers")
        if len(arguments) > len(order):
            raise MoxTypeError(
                f"{cls.__name__} has {len(arguments)} arguments without a name. With handlers, give"
                " those behind items_to_handlers by name."
            )
        return BaseTFRecordDataset(**dict(zip(order, arguments, strict=False)), **named)
