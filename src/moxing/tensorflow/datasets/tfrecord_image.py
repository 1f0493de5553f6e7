"""A reader of TFRecord files of labeled images, as slim and `mox convert` write them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.datasets import arguments, images, labels, stream
from moxing.tensorflow.datasets.images import Processing
from moxing.tensorflow.datasets.progressive import ProgressiveImagenetDataset
from moxing.tensorflow.datasets.stream import Samples, Settings, Stage
from moxing.tensorflow.datasets.tfrecord_metadata import ImageClassificationTFRecordMetadata
from moxing.tensorflow.datasets.tfrecords.examples import Examples
from moxing.tensorflow.datasets.tfrecords.image_records import IMAGE, LABEL, inspect

__all__ = [
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
    "ProgressiveImagenetDataset",
]

_ITEMS = ("image", "label", "label_desc", "image_name")
_TEXT, _NAME = "image/class/text", "image/filename"


class ImageClassificationTFRecordDataset:
    """Reads images and labels from records. Create it in `input_fn`, because it makes operations.

    Records have the features image/encoded (the content of an image file of any format) and
    image/class/label, and may have image/class/text and image/filename.

    Args:
        metadata: the files; `meta` is another name.
        batch_size, shuffle, num_epochs, image_size, augmentation_fn, preprocess_fn, cache_dir,
        remove_cache_on_finish, private_num_threads, drop_remainder, skip_bad: see
            `ImageClassificationRawDataset`.
        shuffle_buffer_size, num_parallel: at least 1; have no effect, because every epoch is a
            permutation of all records, and the pipeline tunes itself.
        custom_feature_keys: the names of further features to parse, which become items.
        custom_feature_values: a `tf.io.FixedLenFeature` or similar for each further feature. A
            value for a feature named above changes how that feature is parsed.
        label_one_hot: whether labels are one-hot vectors; needs num_classes in the metadata.

    Raises:
        MoxError: an argument is invalid.
    """

    def __init__(
        self,
        metadata: ImageClassificationTFRecordMetadata | None = None,
        batch_size: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 6400,
        num_parallel: int = 8,
        num_epochs: int | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        preprocess_fn: Callable[..., Any] | None = None,
        image_size: Any = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        custom_feature_keys: Sequence[str] | None = None,
        custom_feature_values: Sequence[Any] | None = None,
        drop_remainder: bool = False,
        augmentation_fn: Callable[..., Any] | None = None,
        label_one_hot: bool = False,
        skip_bad: bool = False,
        *,
        meta: ImageClassificationTFRecordMetadata | None = None,
    ) -> None:
        self._name = type(self).__name__
        found = metadata if metadata is not None else meta
        if found is None:
            raise MoxTypeError(f"{self._name} needs metadata.")
        self._metadata = found
        arguments.count(self._name, "num_parallel", num_parallel, 1)
        arguments.count(self._name, "shuffle_buffer_size", shuffle_buffer_size, 1)
        self._settings = Settings(
            arguments.optional_count(self._name, "num_epochs", num_epochs, 1),
            arguments.flag(self._name, "shuffle", shuffle),
            arguments.optional_count(self._name, "batch_size", batch_size, 1),
            arguments.flag(self._name, "drop_remainder", drop_remainder),
            arguments.flag(self._name, "skip_bad", skip_bad),
            arguments.count(self._name, "private_num_threads", private_num_threads, 0),
        )
        self._processing = Processing(
            arguments.image_size(self._name, image_size),
            arguments.function(self._name, "augmentation_fn", augmentation_fn),
            arguments.function(self._name, "preprocess_fn", preprocess_fn),
        )
        self._one_hot = arguments.flag(self._name, "label_one_hot", label_one_hot)
        if self._one_hot and not self._metadata.num_classes:
            raise MoxValueError(
                f"{self._name}: label_one_hot=True needs the number of classes: pass num_classes to"
                " the metadata, or put labels.txt beside the files."
            )
        self._cache_dir = cache_dir
        self._remove_cache = arguments.flag(
            self._name, "remove_cache_on_finish", remove_cache_on_finish
        )
        self._custom = arguments.features(
            self._name, "custom_feature", custom_feature_keys or (), custom_feature_values or ()
        )
        self._tensors: dict[str, tf.Tensor] = {}

    def get(self, items: Sequence[str]) -> list[tf.Tensor]:
        """Returns the tensors of the next image, or batch of images, in the order of `items`.

        Args:
            items: names from image (uint8 of shape [rows, columns, 3], or the result of its
                processing), label (an int64 scalar, or float32 of shape [num_classes]), label_desc
                (the name of the class; "" if neither labels.txt nor the record has it), image_name
                ("" if the record has none), and custom_feature_keys.
        """
        if not self._tensors:
            self._tensors = self._open()
        wanted = arguments.items(self._name, items, list(self._tensors))
        return [self._tensors[name] for name in wanted]

    def _open(self) -> dict[str, tf.Tensor]:
        images.check_batchable(self._name, self._settings, self._processing)
        features = {
            IMAGE: tf.io.FixedLenFeature([], tf.string),
            LABEL: tf.io.FixedLenFeature([], tf.int64),
            _TEXT: tf.io.FixedLenFeature([], tf.string, ""),
            _NAME: tf.io.FixedLenFeature([], tf.string, ""),
        }
        records = self._metadata.records(
            self._settings.skip_bad, self._cache_dir, self._remove_cache
        )

        def read(processing: Processing) -> tuple[Samples, list[str]]:
            build = functools.partial(self._build, processing)
            return Examples(records, features | self._custom, build, inspect).samples()

        samples, names = read(self._processing)
        changes = (
            images.per_sample(self._name, self._processing),
            images.per_batch(self._name, self._processing),
        )
        fuse = images.fusing(self._settings, self._processing, lambda changed: read(changed)[0])
        made = stream.open_stream(Stage(samples, self._settings, *changes), fuse=fuse)
        if self._metadata.labels_list:
            labels.announce(self._metadata.labels_list)
        return dict(zip(names, made, strict=True))

    def _build(
        self,
        processing: Processing,
        features: dict[str, Any],
        seed: tf.Tensor,
        call: stream.Call,
    ) -> dict[str, Any]:
        del call
        label = tf.cast(tf.reshape(features[LABEL], []), tf.int64)
        text = features[_TEXT]
        if self._metadata.labels_list:
            known = tf.constant([*self._metadata.labels_list, ""])
            inside = (label >= 0) & (label < len(self._metadata.labels_list))
            text = known[tf.where(inside, label, len(self._metadata.labels_list))]
        value = tf.one_hot(label, self._metadata.num_classes) if self._one_hot else label
        image = images.make(features[IMAGE], seed, self._settings, processing)
        items = dict(zip(_ITEMS, (image, value, text, features[_NAME]), strict=True))
        return items | {key: features[key] for key in self._custom}
