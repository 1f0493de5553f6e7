"""Metadata and a reader of a tree of images with any number of labels each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, near_matches
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import arguments, labels, packed, storage
from moxing.tensorflow.datasets.folders import tree
from moxing.tensorflow.datasets.folders.progress import Progress
from moxing.tensorflow.datasets.raw.base import RawDataset, options

LARGEST_LABELS = 1 << 20  # Bytes of the labels of one image.


class MultilabelClassificationRawMetadata:
    """The metadata of a tree of images and label files. It makes no operations.

    The labels of `images/0.jpg` are in `labels/0.jpg.txt`: one per line, or all in one line,
    separated by commas or spaces. A file labels.txt in the tree, with lines such as `0: cat`,
    defines the numbers of the classes. Without it, the sorted names of all labels are numbered.

    Args:
        base_dir: the tree.
        images_sub_dir: the folder of images in the tree.
        labels_sub_dir: the folder of label files in the tree.
        labels_extension: the extension that is added to an image's name for its label file.
        redirect_dir: if given, the tree to read instead of `base_dir`.
        labels_filename: the name of the labels file in the tree.

    Attributes:
        base_dir: the tree that is read.
        images: the sorted names of the images.
        total_num_samples: the number of images.
        num_classes: the number of classes.
        labels_list: the names of the classes by number.
        labels_to_names, names_to_labels: dicts between class numbers and names.

    Raises:
        MoxValueError: the tree does not exist or has no images, or label files are invalid.
    """

    def __init__(
        self,
        base_dir: str | os.PathLike[str],
        images_sub_dir: str = "images",
        labels_sub_dir: str = "labels",
        labels_extension: str = "txt",
        redirect_dir: str | os.PathLike[str] | None = None,
        labels_filename: str = "labels.txt",
    ) -> None:
        name, path = ("redirect_dir", redirect_dir) if redirect_dir else ("base_dir", base_dir)
        self.base_dir = arguments.path(type(self).__name__, name, path)
        self.images_sub_dir, self.labels_sub_dir = images_sub_dir, labels_sub_dir
        self._extension = labels_extension.lstrip(".")
        self.images = tree.images(os.path.join(self.base_dir, images_sub_dir))
        if not self.images:
            folder = os.path.join(self.base_dir, images_sub_dir)
            raise MoxValueError(f"{folder} has no image.")
        self.total_num_samples = len(self.images)
        #: The text of each image's label file; None if the image has none.
        self.texts = self._read_texts()
        self.labels_list = self._names(os.path.join(self.base_dir, labels_filename))
        self.labels_to_names = dict(enumerate(self.labels_list))
        self.names_to_labels = {name: label for label, name in self.labels_to_names.items()}
        self.num_classes = len(self.labels_list)

    def label_path(self, image: str) -> str:
        """Returns the path of an image's label file within the tree."""
        return os.path.join(self.labels_sub_dir, f"{image}.{self._extension}")

    def _read_texts(self) -> list[str | None]:
        progress = Progress(f"Reading {len(self.images)} label files", len(self.images))
        texts: list[str | None] = []
        for image in self.images:
            path = os.path.join(self.base_dir, self.label_path(image))
            try:
                texts.append(storage.read(path, LARGEST_LABELS).decode())
            except FileNotFoundError:
                texts.append(None)
            except (OSError, UnicodeDecodeError) as error:
                raise MoxValueError(f"{path} can't be read as text: {error}.") from error
            progress.update(len(texts))
        return texts

    def _names(self, path: str) -> list[str]:
        names = labels.read(path)
        if names is None:
            found = [text for text in self.texts if text is not None]
            separator = _likely_separator(found)
            names = sorted(set(itertools.chain(*(_split(text, separator) for text in found))))
            path = f"sorted labels of {os.path.join(self.base_dir, self.labels_sub_dir)}"
        if not names:
            raise MoxValueError(f"no label is found in {self.base_dir}, and no {path}.")
        TENSORFLOW.info("Labels (%s): %s", path, labels.describe(names))
        return names


def _likely_separator(texts: Iterable[str]) -> str | None:
    """Returns the separator of labels that all files together suggest; None: any whitespace."""
    lines = [[line for line in text.splitlines() if line.strip()] for text in texts]
    if any(len(found) > 1 for found in lines):
        return "\n"
    return "," if any("," in line for found in lines for line in found) else None


def _split(text: str, separator: str | None) -> list[str]:
    parts = text.removeprefix("\ufeff").replace("\r\n", "\n").split(separator)
    return [part.strip() for part in parts if part.strip()]


class MultilabelClassificationRawDataset(RawDataset):
    """Reads images with any number of labels each. Create it in `input_fn`; it makes operations.

    The items of `get` are image, image_name, label (float32 of shape [num_classes], 1 for each
    label of the image) and label_desc (the names of these labels, separated by commas).

    Args: see `ImageClassificationRawDataset`; and
        metadata: the metadata of the tree.
        label_sep: the separator of labels in a label file. If unknown labels become known when
            split at commas or spaces, they are split.
        skip_label_not_found: whether to leave out images without a label file; otherwise a
            missing file is an error.
    """

    def __init__(
        self,
        metadata: MultilabelClassificationRawMetadata,
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
        label_sep: str = "\n",
        skip_label_not_found: bool = False,
        augmentation_fn: Callable[..., Any] | None = None,
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
        # Some copies of the documentation have lost the backslash of "\n".
        self._separator = "\n" if label_sep == "n" else label_sep
        skip = arguments.flag(name, "skip_label_not_found", skip_label_not_found)
        self._labeled = self._find_labeled(skip)
        self._numbers = [self._labels_of(image, text) for image, text in self._labeled]

    def _find_labeled(self, skip: bool) -> list[tuple[str, str]]:
        """Returns pairs of an image and the text of its label file."""
        pairs = list(zip(self._metadata.images, self._metadata.texts, strict=True))
        labeled = [(image, text) for image, text in pairs if text is not None]
        without = [image for image, text in pairs if text is None]
        if without and not skip:
            raise MoxValueError(
                f"{len(without)} of {len(pairs)} images in {self._metadata.base_dir} have no label"
                f" file: {self._metadata.label_path(without[0])} is missing. Add it, or pass"
                " skip_label_not_found=True to leave out such images."
            )
        if without:
            TENSORFLOW.warning(
                "Left out %d of %d images in %s, which have no label file, such as %s.",
                len(without),
                len(pairs),
                self._metadata.base_dir,
                without[0],
            )
        if not labeled:
            raise MoxValueError(f"no image in {self._metadata.base_dir} has a label file.")
        return labeled

    def _labels_of(self, image: str, text: str) -> list[int]:
        known = self._metadata.names_to_labels
        found: list[str] = []
        for part in _split(text, self._separator):
            smaller = next(
                (
                    split
                    for split in ([part], _split(part, ","), _split(part, None))
                    if all(name in known for name in split)
                ),
                None,
            )
            if smaller is None:
                path = os.path.join(self._metadata.base_dir, self._metadata.label_path(image))
                raise MoxValueError(
                    f"{path}: {part!r} is no label.{near_matches(part, known)} The labels are"
                    f" {labels.describe(self._metadata.labels_list)}. If it is several, say what"
                    " stands between them with label_sep."
                )
            found += smaller
        return sorted({known[name] for name in found})

    def _base(self) -> str:
        return self._metadata.base_dir

    def _images(self) -> list[str]:
        return [os.path.join(self._metadata.images_sub_dir, image) for image, _ in self._labeled]

    def _class_names(self) -> list[str]:
        return self._metadata.labels_list

    def _connect_labels(self) -> Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
        # One more entry, without labels, is for the mark at the end of an epoch.
        each = [*self._numbers, []]
        values = packed.numbers(np.array(list(itertools.chain(*each)), np.int64))
        starts = packed.numbers(np.cumsum([0, *(len(numbers) for numbers in each)]))
        names = packed.strings(self._metadata.labels_list)

        def label(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            own = values[starts[number] : starts[number + 1]]
            hot = tf.reduce_sum(tf.one_hot(own, self._metadata.num_classes), 0)
            return hot, tf.strings.reduce_join(tf.gather(names, own), separator=",")

        return label
