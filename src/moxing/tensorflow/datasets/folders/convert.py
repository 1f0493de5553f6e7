"""Converts a tree of class folders to TFRecord files that slim's and openmox's readers read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.remote.scratch import room
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file
from moxing.framework.file import publish, urls
from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import arguments, images, labels, packed, stream
from moxing.tensorflow.datasets.decoding import decode, diagnose
from moxing.tensorflow.datasets.folders.progress import Progress
from moxing.tensorflow.datasets.raw.image_classification import ImageClassificationRawMetadata
from moxing.tensorflow.datasets.stream import Samples, Settings, Stage

_PART = 128 << 20  # The approximate bytes per file if the number of files is not given.
_LABELS = "labels.txt"


@dataclass(frozen=True)
class Converted:
    """The result of a conversion.

    Attributes:
        files: the paths of the TFRecord files, or their URLs in an object store.
        images: the number of images in the files.
        left_out: the number of images that could not be read and were left out.
    """

    files: tuple[Path, ...] | tuple[str, ...]
    images: int
    left_out: int


def to_tfrecord(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    parts: int | None = None,
    skip_bad: bool = False,
) -> Converted:
    """Writes the images of a tree of class folders to TFRecord files, with a `labels.txt`.

    The records are in a reproducible random order, and have the features image/encoded,
    image/format ('jpg' or 'png'), image/class/label, image/class/text, image/height, image/width
    and image/filename. JPEG and PNG files are stored unchanged, and other formats become PNG. Each
    image is decoded once, so that bad images are found here and not in training.

    Files have temporary names until all files are written and verified. Until then, files for an
    object store are on the local disk, in the folder for the temporary files of mox.file.

    Args:
        src: the tree, local or in an object store; see `ImageClassificationRawMetadata`.
        dst: the folder to write to, local or in an object store; created if it does not exist.
        parts: the number of files; None: files of about 128 MB.
        skip_bad: whether to leave out images that can't be read.

    Raises:
        MoxValueError: the tree is invalid, an image can't be read, or a file exists already.
        MoxRuntimeError: the written files do not have the expected content.
        OSError: the object store fails.
    """
    metadata = ImageClassificationRawMetadata(src)
    files = [
        (label, os.path.join(name, image))
        for label, (name, found) in enumerate(
            zip(metadata.labels_list, metadata.images, strict=True)
        )
        for image in found
    ]
    count = arguments.optional_count("to_tfrecord", "parts", parts, 1)
    count = min(count or _parts_for(metadata), len(files))
    stem = os.path.basename(os.path.abspath(metadata.base_dir))
    names = [f"{stem}-{part:05d}-of-{count:05d}.tfrecord" for part in range(count)]
    url = urls.text(dst).rstrip("/") if file.is_remote(dst) else None
    _check_free([f"{url}/{name}" if url else os.path.join(dst, name) for name in names])
    with _remote(url) if url else _staging(Path(dst)) as staging:
        staged = [staging / name for name in names]
        counts = _write(metadata, files, staged, skip_bad)
        _check(staged, counts)
        written = sum(counts.values())
        if url:
            labels.write(metadata.labels_list, staging / _LABELS)
            publish.put(str(staging), url, _LABELS)
            made = tuple(f"{url}/{name}" for name in names)
            return Converted(made, written, len(files) - written)
        targets = [Path(dst) / name for name in names]
        for path, target in zip(staged, targets, strict=True):
            path.replace(target)
    labels.write(metadata.labels_list, Path(dst) / _LABELS)
    return Converted(tuple(targets), written, len(files) - written)


def _parts_for(metadata: ImageClassificationRawMetadata) -> int:
    sizes = 0
    for name, found in zip(metadata.labels_list, metadata.images, strict=True):
        taken = set(found)
        with file.scan_dir(os.path.join(metadata.base_dir, name)) as entries:
            for entry in entries:
                with suppress(OSError):  # Reading the file reports the error later.
                    sizes += entry.stat().st_size if entry.name in taken else 0
    return max(1, round(sizes / _PART))


def _check_free(targets: Sequence[str]) -> None:
    folder = os.path.dirname(targets[0])
    if file.is_remote(folder):
        publish.clear(folder, [os.path.basename(target) for target in targets])
    there = next((target for target in targets if file.exists(target)), None)
    if there is not None:
        raise MoxValueError(f"{there} exists already. Delete it or choose another folder.")


@contextmanager
def _remote(url: str) -> Iterator[Path]:
    """In the block, a local folder for files that go to an object store."""
    with room(tuning.staging_dir()) as staging:
        yield Path(staging)


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """In the block, a temporary folder on the same file system as `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".converting-", dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(
    metadata: ImageClassificationRawMetadata,
    files: Sequence[tuple[int, str]],
    parts: Sequence[Path],
    skip_bad: bool,
) -> dict[int, int]:
    """Writes the parts; returns the number of images with each label."""
    progress = Progress(f"Converting {len(files)} images", len(files))
    counts = dict.fromkeys(range(metadata.num_classes), 0)
    paths = [os.path.join(metadata.base_dir, name) for _, name in files]
    writers = [tf.io.TFRecordWriter(str(path)) for path in parts]
    try:
        for done, (number, *image) in enumerate(_contents(paths, skip_bad)):
            label, name = files[number]
            example = _example(image, label, metadata.labels_list[label], name)
            writers[done * len(parts) // len(files)].write(example)
            counts[label] += 1
            progress.update(done + 1)
    finally:
        for writer in writers:
            writer.close()
    return counts


def _contents(paths: Sequence[str], skip_bad: bool) -> Iterator[tuple[Any, ...]]:
    """Yields the index, content, format and shape of each image, in a random order."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        settings = Settings(epochs=1, skip_bad=skip_bad, files_at_once=images.at_once(paths[0]))
        problems, fetch = images.problems_of(paths), images.fetcher(paths)
        samples = Samples(len(paths), lambda: _reader(paths), problems, fetch)
        tensors = stream.open_stream(Stage(samples, settings))
        step = session.make_callable(tensors)
        try:
            while True:
                yield tuple(step())
        except tf.errors.OutOfRangeError:
            return
        except tf.errors.InvalidArgumentError as error:
            raise MoxValueError(_message(error)) from None


def _message(error: tf.errors.OpError) -> str:
    return diagnose.first_line(error).split("MoxValueError: ", 1)[-1] + "."


def _reader(paths: Sequence[str]) -> stream.Read:
    all_paths = packed.strings([*paths, images.BLANK])

    def read(
        number: tf.Tensor, seed: tf.Tensor, call: stream.Call, content: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, ...]:
        del seed, call
        if content is None:
            content = tf.io.read_file(all_paths[number])
        image = decode.decode(content)
        is_jpeg = tf.io.is_jpeg(content)
        is_png = tf.equal(tf.strings.substr(content, 0, 4), b"\x89PNG")
        kept = tf.cond(is_jpeg | is_png, lambda: content, lambda: tf.io.encode_png(image))
        kind = tf.where(is_jpeg, tf.constant(b"jpg"), tf.constant(b"png"))
        return number, kept, kind, tf.shape(image)

    return read


def _example(image: Sequence[Any], label: int, text: str, name: str) -> bytes:
    content, kind, shape = image
    features: dict[str, bytes | int] = {
        "image/encoded": content,
        "image/format": kind,
        "image/class/label": label,
        "image/class/text": text.encode(),
        "image/height": int(shape[0]),
        "image/width": int(shape[1]),
        "image/filename": os.fsencode(name),
    }
    feature = {key: _feature(value) for key, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _feature(value: bytes | int) -> tf.train.Feature:
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _check(parts: Sequence[Path], counts: dict[int, int]) -> None:
    """Reads the parts again, and compares the number of images with each label."""
    found = dict.fromkeys(counts, 0)
    spec = {"image/class/label": tf.io.FixedLenFeature([], tf.int64)}
    with tf.Graph().as_default(), tf.Session() as session:
        records = tf.data.TFRecordDataset([str(part) for part in parts]).batch(256)
        parsed = records.map(lambda batch: tf.io.parse_example(batch, spec)["image/class/label"])
        batch = tf.data.make_one_shot_iterator(parsed).get_next()
        try:
            while True:
                numbers, times = np.unique(session.run(batch), return_counts=True)
                for label, count in zip(numbers.tolist(), times.tolist(), strict=True):
                    found[label] = found.get(label, 0) + count
        except tf.errors.OutOfRangeError:
            pass
    if found != counts:
        raise MoxRuntimeError(
            f"wrote {sum(counts.values())} images, but reading {parts[0].parent} again finds"
            f" {sum(found.values())}, or other labels. The disk may be failing; nothing was kept."
        )
    TENSORFLOW.info("Read %d records again: all are there.", sum(found.values()))
