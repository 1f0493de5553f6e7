"""The base class of the readers of image files, and the check of their arguments."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import arguments, images, labels, storage
from moxing.tensorflow.datasets.images import ImageFiles, Processing
from moxing.tensorflow.datasets.reader import raw_reader
from moxing.tensorflow.datasets.stream import Settings

ITEMS = ("image", "label", "label_desc", "image_name")


@dataclass(frozen=True)
class Options:
    """The checked arguments of a reader; see `ImageClassificationRawDataset`."""

    settings: Settings
    processing: Processing
    cache_dir: str | os.PathLike[str] | None
    remove_cache: bool


def options(
    reader: str,
    *,
    batch_size: Any,
    num_readers: Any,
    num_epochs: Any,
    shuffle: Any,
    shuffle_buffer_size: Any,
    capacity: Any,
    cache_dir: Any,
    preprocess_fn: Any,
    preprocess_threads: Any,
    image_size: Any,
    remove_cache_on_finish: Any,
    private_num_threads: Any,
    reader_class: Any,
    reader_kwargs: Any,
    drop_remainder: Any,
    augmentation_fn: Any,
    skip_bad: Any,
) -> Options:
    """Checks the arguments of the readers. Raises MoxError."""
    readers = arguments.count(reader, "num_readers", num_readers, 1)
    for name, value in (
        ("shuffle_buffer_size", shuffle_buffer_size),
        ("capacity", capacity),
        ("preprocess_threads", preprocess_threads),
    ):
        arguments.count(reader, name, value, 1)
    settings = Settings(
        arguments.optional_count(reader, "num_epochs", num_epochs, 1),
        arguments.flag(reader, "shuffle", shuffle),
        arguments.optional_count(reader, "batch_size", batch_size, 1),
        arguments.flag(reader, "drop_remainder", drop_remainder),
        arguments.flag(reader, "skip_bad", skip_bad),
        arguments.count(reader, "private_num_threads", private_num_threads, 0),
        raw_reader.files_at_once(reader, reader_class, reader_kwargs, readers),
    )
    processing = Processing(
        arguments.image_size(reader, image_size),
        arguments.function(reader, "augmentation_fn", augmentation_fn),
        arguments.function(reader, "preprocess_fn", preprocess_fn),
    )
    remove = arguments.flag(reader, "remove_cache_on_finish", remove_cache_on_finish)
    return Options(settings, processing, cache_dir, remove)


class RawDataset(abc.ABC):
    """Base class of the readers of image files.

    A subclass provides the files and their labels.
    """

    def __init__(self, given: Options) -> None:
        self._name = type(self).__name__
        self._options = given
        self._tensors: dict[str, tf.Tensor] = {}

    def get(self, items: Sequence[str]) -> list[tf.Tensor]:
        """Returns the tensors of the next image, or batch of images, in the order of `items`.

        Args:
            items: names from image (uint8 of shape [rows, columns, 3], or the result of its
                processing), label, label_desc (string) and image_name (string, the path within the
                tree).

        Raises:
            MoxValueError: an item is unknown, or arguments do not fit together.
        """
        wanted = arguments.items(self._name, items, ITEMS)
        if not self._tensors:
            self._tensors = dict(zip(ITEMS, self._open(), strict=True))
        return [self._tensors[name] for name in wanted]

    def _open(self) -> list[tf.Tensor]:
        given, base = self._options, self._base()
        if given.cache_dir is not None:
            base = storage.local_copy(base, given.cache_dir, given.remove_cache)
        paths = [os.path.join(base, name) for name in self._images()]
        files = ImageFiles(base, paths, self._connect_labels)
        labels.announce(self._class_names())
        return images.open_images(self._name, files, given.settings, given.processing)

    @abc.abstractmethod
    def _base(self) -> str:
        """Returns the folder of the tree."""

    @abc.abstractmethod
    def _images(self) -> list[str]:
        """Returns the paths of the images, relative to the tree."""

    @abc.abstractmethod
    def _class_names(self) -> list[str]:
        """Returns the names of the classes, by number."""

    @abc.abstractmethod
    def _connect_labels(self) -> Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
        """See `ImageFiles.connect_labels`."""
