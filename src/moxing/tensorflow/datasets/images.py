"""Reads image files from a list of paths to tensors of images, labels and names."""

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

_REMOTE_FILES = 16  # The files read at once from an object store without a cache.
_LONGEST = 1 << 16  # The maximum bytes of a path.
# The small image that stands for the marks at the ends of epochs.
BLANK = os.path.join(os.path.dirname(__file__), "blank.jpg")

Label = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


@dataclass(frozen=True)
class ImageFiles:
    """The image files to read.

    Attributes:
        base: the folder that the names of images are relative to.
        paths: the paths of the files in `base`.
        connect_labels: makes, in the current graph, a function from the index of a file (an int64
            scalar, at most the number of files) to its label and the label's description, a string.
    """

    base: str
    paths: Sequence[str]
    connect_labels: Callable[[], Label]


@dataclass(frozen=True)
class Processing:
    """The processing of a file's content.

    Attributes:
        image_size: the (rows, columns) to which images are resized by nearest neighbor; None: no
            resizing.
        augmentation: a function from an image to an image, applied after resizing.
        preprocess: a function from names, contents, labels and descriptions, batched if batches are
            made, to four such tensors; it replaces decoding, resizing and augmentation.
    """

    image_size: tuple[int, int] | None = None
    augmentation: Callable[..., Any] | None = None
    preprocess: Callable[..., Any] | None = None


def open_images(
    reader: str, files: ImageFiles, settings: Settings, processing: Processing
) -> list[tf.Tensor]:
    """Returns the tensors image, label, description and name of the next file or batch."""
    check_batchable(reader, settings, processing)
    if not settings.files_at_once:
        settings = dataclasses.replace(settings, files_at_once=at_once(files.base))

    def samples(processing: Processing) -> Samples:
        def connect() -> stream.Read:
            start = len(os.fsencode(os.path.join(files.base, "")))
            # The prefix of every path is cut off; extra slashes, which are ignored, give BLANK one.
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
    """Returns a function that merges an augmentation into reading; None if it saves no work.

    Args:
        settings, processing: the settings and the processing of the reader.
        samples: returns the samples of the reader with another processing.
    """
    # With skip_bad, the whole image is decoded anyway, to find damage.
    if settings.batch_size is not None or settings.skip_bad or processing != Processing():
        return None
    return lambda change: samples(Processing(augmentation=change))


def problems_of(paths: Sequence[str]) -> Problems:
    """Returns the Problems that diagnose image files."""
    return Problems(lambda number: paths[number], lambda number: diagnose.of_file(paths[number]))


def at_once(path: str) -> int | None:
    """Returns the number of files to read ahead of decoding; None for files on a disk."""
    return _REMOTE_FILES if file.is_remote(path) else None


def fetcher(paths: Sequence[str]) -> Callable[[], Callable[[tf.Tensor], tf.Tensor]]:
    """Returns a function that makes, in the current graph, a function from index to content."""
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
    """Raises a MoxValueError if images of different sizes would have to form a batch."""
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
    """Processes a file's content before the program's functions get it.

    Args:
        content: the content of the file.
        seed: the seed of the sample, int64 of shape [2].
        settings, processing: the settings and the processing of the reader.
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
    """Returns the program's augmentation_fn as a change of an image and the tensors with it."""
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
    """Returns the program's preprocess_fn as a change of contents, labels, texts, names, etc."""
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
