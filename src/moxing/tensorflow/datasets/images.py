"""Reads image files: from a list of paths to tensors of images, labels and names."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.framework import file
from moxing.tensorflow.datasets import packed, storage, stream
from moxing.tensorflow.datasets.decoding import decode, diagnose
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.stream import Samples, Settings, Stage
from moxing.tensorflow.preprocessing import Augmentation

_REMOTE_FILES = 16  # Under way at once, where a store is read without a cache.
_LONGEST = 1 << 16  # Bytes of a path.
# A small image stands for the marks at the ends of epochs: it passes for any other.
BLANK = os.path.join(os.path.dirname(__file__), "blank.jpg")

Label = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


@dataclass(frozen=True)
class ImageFiles:
    """Files to read.

    Attributes:
        base: folder that the names of images are relative to.
        paths: of the files, in it.
        connect_labels: makes, in the current graph, the function from the number of a file (int64
            scalar, at most their count) to its label and a description (string) of the label.
    """

    base: str
    paths: Sequence[str]
    connect_labels: Callable[[], Label]


@dataclass(frozen=True)
class Processing:
    """What is made of a file's content.

    Attributes:
        image_size: rows and columns that images are resized to, by nearest neighbor; None: as
            they are.
        augmentation: from one image to one image, after resizing.
        preprocess: instead of all that: from names, contents, labels and descriptions, batched
            where batches are made, to four such tensors.
    """

    image_size: tuple[int, int] | None = None
    augmentation: Callable[..., Any] | None = None
    preprocess: Callable[..., Any] | None = None


def open_images(
    reader: str, files: ImageFiles, settings: Settings, processing: Processing
) -> list[tf.Tensor]:
    """The tensors image, label, description and name of the next file, or batch of files."""
    check_batchable(reader, settings, processing)
    if not settings.files_at_once:
        settings = dataclasses.replace(settings, files_at_once=at_once(files.base))

    def samples(processing: Processing) -> Samples:
        def connect() -> stream.Read:
            start = len(os.fsencode(os.path.join(files.base, "")))
            # Slashes more than needed are ignored; so there is something to cut off every path.
            paths = packed.strings([*files.paths, "/" * start + BLANK])
            label = files.connect_labels()

            def read(
                number: tf.Tensor, seed: tf.Tensor, _: stream.Call, content: tf.Tensor | None = None
            ) -> tuple[tf.Tensor, ...]:
                path = paths[number]
                if content is None:
                    content = tf.io.read_file(path)
                name = tf.strings.substr(path, start, _LONGEST)
                return (make(content, seed, settings, processing), *label(number), name)

            return read

        return Samples(len(files.paths), connect, problems_of(files.paths), fetcher(files.paths))

    changes = per_sample(reader, processing), per_batch(reader, processing)
    stage = Stage(samples(processing), settings, *changes)
    return stream.open_stream(stage, fuse=fusing(settings, processing, samples))


def fusing(
    settings: Settings, processing: Processing, samples: Callable[[Processing], Samples]
) -> stream.Fuse | None:
    """How an augmentation of whole images becomes part of reading them, if that saves work.

    Args:
        settings, processing: of the reader.
        samples: of a reader with another processing.
    """
    # With skip_bad all of an image is decoded anyway, so that damage is found.
    if settings.batch_size is not None or settings.skip_bad or processing != Processing():
        return None
    return lambda change: samples(Processing(augmentation=change))


def problems_of(paths: Sequence[str]) -> Problems:
    """What is wrong with files of images."""
    return Problems(lambda number: paths[number], lambda number: diagnose.of_file(paths[number]))


def at_once(path: str) -> int | None:
    """How many files to read ahead of what is made of them, by where one of them is."""
    return _REMOTE_FILES if file.is_remote(path) else None


def fetcher(paths: Sequence[str]) -> Callable[[], Callable[[tf.Tensor], tf.Tensor]]:
    """What connects the function from a file's number to its content, on a disk or in a store."""
    remote = file.is_remote(paths[0])

    def connect() -> Callable[[tf.Tensor], tf.Tensor]:
        packed_paths = packed.strings([*paths, BLANK])
        return lambda number: _content(packed_paths[number], remote)

    return connect


def _content(path: tf.Tensor, remote: bool) -> tf.Tensor:
    if not remote:
        return tf.io.read_file(path)

    def read(text: bytes) -> bytes:
        return storage.read(os.fsdecode(text))

    content = tf.numpy_function(read, [path], tf.string)
    content.set_shape([])
    return content


def check_batchable(reader: str, settings: Settings, processing: Processing) -> None:
    """Raises MoxValueError where images of different sizes would have to become a batch."""
    if settings.batch_size is None:
        return
    if not (processing.image_size or processing.augmentation or processing.preprocess):
        raise MoxValueError(
            f"{reader}: batch_size={settings.batch_size} needs images of one size: pass"
            " image_size=, augmentation_fn= or preprocess_fn=."
        )


def make(
    content: tf.Tensor,
    seed: tf.Tensor,
    settings: Settings,
    processing: Processing,
) -> tf.Tensor:
    """What is made of a file before the user's functions see it.

    Args:
        content: of the file.
        seed: int64 [2], of the sample.
        settings, processing: of the reader.
    """
    if processing.preprocess is not None:
        return content
    augmentation = processing.augmentation
    if isinstance(augmentation, Augmentation) and processing.image_size is None:
        return decode.decode_and_augment(content, augmentation, seed, whole=settings.skip_bad)
    image = decode.decode(content)
    if processing.image_size is not None:
        image = tf.image.resize_nearest_neighbor(
            image[tf.newaxis], processing.image_size, half_pixel_centers=True
        )[0]
    if isinstance(augmentation, Augmentation):
        image = augmentation(image, seed)
    return image


def per_sample(reader: str, processing: Processing) -> stream.Change | None:
    """The user's augmentation_fn, as a change of an image and what comes with it."""
    augmentation = processing.augmentation
    if augmentation is None or isinstance(augmentation, Augmentation):
        return None

    def augment(call: stream.Call, image: tf.Tensor, *rest: tf.Tensor) -> tuple[tf.Tensor, ...]:
        made = call(augmentation, image)
        if isinstance(made, list | tuple):
            raise MoxTypeError(
                f"{reader}: augmentation_fn returned {len(made)} values; it must return one image."
            )
        return (tf.convert_to_tensor(made), *rest)

    return augment


def per_batch(reader: str, processing: Processing) -> stream.Change | None:
    """The user's preprocess_fn, as a change of contents, labels, descriptions, names and more."""
    preprocess = processing.preprocess
    if preprocess is None:
        return None

    def process(
        call: stream.Call,
        content: tf.Tensor,
        label: tf.Tensor,
        text: tf.Tensor,
        name: tf.Tensor,
        *rest: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        made = call(preprocess, name, content, label, text)
        if not isinstance(made, list | tuple) or len(made) != 4:
            count = f"{len(made)} values" if isinstance(made, list | tuple) else "one value"
            raise MoxTypeError(
                f"{reader}: preprocess_fn returned {count}; it must return four: image_name,"
                " image, label, label_desc."
            )
        name, image, label, text = (tf.convert_to_tensor(item) for item in made)
        return image, label, text, name, *rest

    return process
