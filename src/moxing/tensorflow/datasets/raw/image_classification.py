"""Metadata and a reader of a tree of images in class folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import arguments, labels, packed
from moxing.tensorflow.datasets.folders import tree
from moxing.tensorflow.datasets.raw.base import RawDataset, options


class ImageClassificationRawMetadata:
    """The metadata of a tree of class folders. It makes no operations.

    A file `labels.txt` in the tree, with lines such as `0: daisy`, defines the numbers of the
    classes; its names must be those of the folders. Without the file, the classes are numbered in
    the order of the folders' sorted names.

    Args:
        base_dir: the folder of the tree, with one folder of images per class.
        redirect_dir: if given, the folder to read instead of `base_dir`.
        labels_filename: the name of the labels file in the tree.

    Attributes:
        base_dir: the folder that is read.
        total_num_samples: the number of images.
        num_classes: the number of classes.
        labels_list: the names of the classes by number.
        labels_to_names, names_to_labels: dicts between class numbers and names.

    Raises:
        MoxValueError: the tree does not exist or has no images, or the labels file is invalid or
            does not match the folders.
    """

    def __init__(
        self,
        base_dir: str | os.PathLike[str],
        redirect_dir: str | os.PathLike[str] | None = None,
        labels_filename: str = "labels.txt",
    ) -> None:
        name, path = ("redirect_dir", redirect_dir) if redirect_dir else ("base_dir", base_dir)
        self.base_dir = arguments.path(type(self).__name__, name, path)
        folders = tree.class_folders(self.base_dir)
        self.labels_list = _labels(self.base_dir, labels_filename, [item.name for item in folders])
        self.labels_to_names = dict(enumerate(self.labels_list))
        self.names_to_labels = {name: label for label, name in self.labels_to_names.items()}
        self.num_classes = len(self.labels_list)
        by_name = {folder.name: folder.images for folder in folders}
        #: Images of each class, by label; samples are numbered in this order.
        self.images: tuple[tuple[str, ...], ...] = tuple(by_name[name] for name in self.labels_list)
        self.total_num_samples = sum(len(files) for files in self.images)


def _labels(base: str, filename: str, folders: Sequence[str]) -> list[str]:
    path = os.path.join(base, filename)
    found = labels.read(path)
    if found is not None:
        labels.check_folders(found, folders, path, base)
        origin = path
    else:
        labels.warn_of_numbers(folders)
        found, origin = list(folders), f"sorted folders of {base}"
    TENSORFLOW.info("Labels (%s): %s", origin, labels.describe(found))
    return found


class ImageClassificationRawDataset(RawDataset):
    """Reads a tree of class folders. Create it in `input_fn`, because it makes operations.

    Every epoch reads all images once. The order depends only on the run's seed and the number of
    the epoch. The arguments for buffer sizes and numbers of threads have no effect: the pipeline
    reads and decodes files in parallel, ahead of the step, and tunes itself.

    Args:
        metadata: the metadata of the tree.
        batch_size: the number of images in a batch; None: single images, which `mox.run` batches.
            Batches cross the ends of epochs, so only the last batch may be smaller.
        num_readers: with `reader_class=mox.AsyncRawGenerator`, the number of files read at once.
        shuffle_buffer_size, capacity, preprocess_threads: at least 1; have no effect.
        num_epochs: the number of passes over the tree; None: no end.
        shuffle: whether each epoch has a random order; else the order is class by class.
        cache_dir: a local folder to which the tree is copied before it is read; 'ENV' means the
            folder in $DLS_LOCAL_CACHE_PATH. None: the tree is read in place, also in an object
            store.
        preprocess_fn: a function of image_name, the content of the file, label and label_desc
            (each with a batch dimension if batch_size is given) that returns image_name, image,
            label and label_desc. It replaces decoding.
        image_size: the size in pixels, one number or (height, width), to which images are resized
            by nearest neighbor.
        augmentation_fn: a function from an image [rows, columns, 3] to an image, such as
            `mox.get_data_augmentation_fn` returns. For that one, only the used part of a JPEG is
            decoded.
        remove_cache_on_finish: whether to delete the copy when the process ends.
        reader_class: `mox.AsyncRawGenerator` reads many files at once, ahead of decoding.
        reader_kwargs: the options of reader_class.
        private_num_threads: the size of a private thread pool; 0: use the process's pool.
        drop_remainder: whether to leave out a last batch that is not full.
        label_one_hot: whether labels are one-hot vectors.
        skip_bad: whether to leave out, count and report images that can't be read. Otherwise such
            an image ends the run with an error that names the file.

        Raises:
            MoxError: an argument is invalid.
    """

    def __init__(
        self,
        metadata: ImageClassificationRawMetadata,
        batch_size: int | None = None,
        num_readers: int = 8,
        num_epochs: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 16,
        capacity: int = 256,
        cache_dir: str | os.PathLike[str] | None = None,
        preprocess_fn: Callable[..., Any] | None = None,
        preprocess_threads: int = 12,
        image_size: Any = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        reader_class: Any = None,
        reader_kwargs: dict[str, Any] | None = None,
        drop_remainder: bool = False,
        augmentation_fn: Callable[..., Any] | None = None,
        label_one_hot: bool = False,
        skip_bad: bool = False,
    ) -> None:
        name = type(self).__name__
        super().__init__(
            options(
                name,
                batch_size=batch_size,
                num_readers=num_readers,
                num_epochs=num_epochs,
                shuffle=shuffle,
                shuffle_buffer_size=shuffle_buffer_size,
                capacity=capacity,
                cache_dir=cache_dir,
                preprocess_fn=preprocess_fn,
                preprocess_threads=preprocess_threads,
                image_size=image_size,
                remove_cache_on_finish=remove_cache_on_finish,
                private_num_threads=private_num_threads,
                reader_class=reader_class,
                reader_kwargs=reader_kwargs,
                drop_remainder=drop_remainder,
                augmentation_fn=augmentation_fn,
                skip_bad=skip_bad,
            )
        )
        self._metadata = metadata
        self._one_hot = arguments.flag(name, "label_one_hot", label_one_hot)

    def _base(self) -> str:
        return self._metadata.base_dir

    def _images(self) -> list[str]:
        classes = zip(self._metadata.labels_list, self._metadata.images, strict=True)
        return [os.path.join(name, image) for name, found in classes for image in found]

    def _class_names(self) -> list[str]:
        return self._metadata.labels_list

    def _connect_labels(self) -> Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
        metadata = self._metadata
        ends = tf.constant(np.cumsum([len(found) for found in metadata.images]))
        numbers = tf.range(tf.constant(metadata.total_num_samples + 1, tf.int64))
        of_image = tf.raw_ops.UpperBound(
            sorted_inputs=ends[tf.newaxis], values=numbers[tf.newaxis], out_type=tf.int64
        )[0]
        # The mark at the end of an epoch, whose index follows the last image, needs a label, too.
        texts = packed.strings([*metadata.labels_list, ""])

        def label(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            found = of_image[number]
            value = tf.one_hot(found, metadata.num_classes) if self._one_hot else found
            return value, texts[found]

        return label
