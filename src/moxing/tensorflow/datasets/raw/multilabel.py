"""Images with any number of labels each: what a tree holds, and a reader of it."""

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


class MultilabelClassificationRawMetadata:
    """What a tree of images and files with their labels holds. It makes no graph.

    The labels of `images/0.jpg` are in `labels/0.jpg.txt`: one a line, or all in one line with
    commas or spaces between them. The numbers of the classes follow labels.txt in the tree, with
    lines `0: cat`; without it, they follow the sorted names of all labels that are found.

    Args:
        base_dir: the tree.
        images_sub_dir: its folder of images.
        labels_sub_dir: its folder of label files.
        labels_extension: what the names of label files have more than those of images.
        redirect_dir: read the tree from here instead of `base_dir`, if given.
        labels_filename: name of the labels file in the tree.

    Attributes:
        base_dir: the tree that is read.
        images: names of the images, sorted.
        total_num_samples: how many images there are.
        num_classes, labels_list, labels_to_names, names_to_labels: of the classes.

    Raises:
        MoxValueError: no such tree, no image in it, or label files that can't be used.
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
        #: The text of each image's label file, None where it has none.
        self.texts = self._read_texts()
        self.labels_list = self._names(os.path.join(self.base_dir, labels_filename))
        self.labels_to_names = dict(enumerate(self.labels_list))
        self.names_to_labels = {name: label for label, name in self.labels_to_names.items()}
        self.num_classes = len(self.labels_list)

    def label_path(self, image: str) -> str:
        """Where the labels of an image are, within the tree."""
        return os.path.join(self.labels_sub_dir, f"{image}.{self._extension}")

    def _read_texts(self) -> list[str | None]:
        progress = Progress(f"Reading {len(self.images)} label files", len(self.images))
        texts: list[str | None] = []
        for image in self.images:
            path = os.path.join(self.base_dir, self.label_path(image))
            try:
                texts.append(storage.read(path).decode())
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
    """What stands between labels, as all files together show it; None: any white space."""
    lines = [[line for line in text.splitlines() if line.strip()] for text in texts]
    if any(len(found) > 1 for found in lines):
        return "\n"
    return "," if any("," in line for found in lines for line in found) else None


def _split(text: str, separator: str | None) -> list[str]:
    parts = text.removeprefix("\ufeff").replace("\r\n", "\n").split(separator)
    return [part.strip() for part in parts if part.strip()]


class MultilabelClassificationRawDataset(RawDataset):
    """Reads images with any number of labels each. Make it in `input_fn`: it makes operations.

    Items of `get`: image, image_name, label (float32 [num_classes], 1 for each label of the image),
    label_desc (the names of these labels, with commas between them).

    Args: see `ImageClassificationRawDataset`; and
        metadata: what the tree holds.
        label_sep: what stands between labels in a label file. Labels that are not known as they
            stand there, but are when split at commas or spaces, are split so.
        skip_label_not_found: whether to leave out images without a label file; else that is an
            error that names the image.
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
        # Printed documents have lost the backslash.
        self._separator = "\n" if label_sep == "n" else label_sep
        skip = arguments.flag(name, "skip_label_not_found", skip_label_not_found)
        self._labeled = self._find_labeled(skip)
        self._numbers = [self._labels_of(image, text) for image, text in self._labeled]

    def _find_labeled(self, skip: bool) -> list[tuple[str, str]]:
        """Images with the texts of their label files."""
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
        # One more, without labels, is for the mark at the end of an epoch.
        each = [*self._numbers, []]
        values = packed.numbers(np.array(list(itertools.chain(*each)), np.int64))
        starts = packed.numbers(np.cumsum([0, *(len(numbers) for numbers in each)]))
        names = packed.strings(self._metadata.labels_list)

        def label(number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            own = values[starts[number] : starts[number + 1]]
            hot = tf.reduce_sum(tf.one_hot(own, self._metadata.num_classes), 0)
            return hot, tf.strings.reduce_join(tf.gather(names, own), separator=",")

        return label
