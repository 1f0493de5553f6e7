"""Turns images with labels into OFRecord parts, TFRecord files or class folders."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf
from google.protobuf.message import DecodeError

from moxing.engine.graph import records
from moxing.engine.remote.scratch import room
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.flow.data.whole import Sample, Sieve, extension
from moxing.framework import classes, file
from moxing.framework.file import ahead, publish
from moxing.framework.file.configuration import tuning

FORMATS = ("ofrecord", "tfrecord", "folders")
LABELS = "labels.txt"
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".bmp")
_SEED = 20191118  # Seeds the order of records made from class folders, which is always the same.


@dataclass(frozen=True)
class Converted:
    """How many images and files were written, and how many images were left out."""

    images: int
    files: int
    left_out: int


def convert(
    src: str, dst: str, to: str, parts: int | None = None, skip_bad: bool = False
) -> Converted:
    """Converts a folder. Every image is decoded once, so that bad images are found.

    Files for a store are on the local disk, in mox.file's folder of temporary files, until they are
    complete. Only a few files of a store are on the local disk at a time.

    Args:
        src: class folders, a folder of TFRecord files or a folder of OFRecord parts; local or in a
            store.
        dst: folder to write to, local or in a store.
        to: "ofrecord", "tfrecord" or "folders".
        parts: how many files; default: one for every thousand images or so.
        skip_bad: whether to leave out images that can't be read.

    Raises:
        MoxValueError: `src` is none of these, `dst` is not empty, or an image can't be read.
        OSError: a store fails.
    """
    if parts is not None and parts < 1:
        raise MoxValueError(f"--parts={parts}: it must be 1 or more.")
    if file.is_remote(dst):
        publish.clear(dst)
    if file.exists(dst) and (not file.is_directory(dst) or _entries(dst)):
        raise MoxValueError(f"{dst} is there already and not empty. Choose another folder.")
    names, count = _labels(src)
    with _staging(dst) as staging:
        sieve = Sieve(skip_bad)
        whole = sieve(samples(src))
        if to == "folders":
            done = _to_folders(whole, staging, names)
        else:
            done = _to_records(whole, staging, to, parts or max(1, round(count / 1000)))
        if done[0] == 0:
            more = f" that can be read; {sieve.left_out} can't" if sieve.left_out else ""
            raise MoxValueError(f"{src} holds no image{more}.")
        if names and (to != "folders" or names != sorted(names)):
            (staging / LABELS).write_text(classes.as_text(names), encoding="utf-8")
    return Converted(*done, sieve.left_out)


@contextmanager
def _staging(dst: str) -> Iterator[Path]:
    """Yields a local folder, which becomes `dst` if the block succeeds, and else is removed."""
    if file.is_remote(dst):
        with room(tuning.staging_dir()) as local:
            yield Path(local)
            publish.put(local, dst)
        return
    target = Path(dst)
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.converting-", dir=target.parent))
    try:
        os.chmod(staging, 0o755)
        yield staging
        staging.replace(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def samples(src: str) -> Iterator[Sample]:
    """Yields the path of each sample of a folder, its encoded image and its label."""
    kind, found = _kind(src)
    if kind == "ofrecord":
        for path in found:
            for place, content in files.read(path):
                yield _of_record(place, content)
    elif kind == "tfrecord":
        with closing(ahead.copies(found)) as copies:
            for path, copy in zip(found, copies, strict=True):
                for number, content in enumerate(_examples(path, copy)):
                    yield _of_example(path, number, content)
    else:
        items = [
            (os.path.join(src, name, image), label)
            for label, name in enumerate(_numbered(src, _entries(src)))
            for image, _ in _entries(os.path.join(src, name))
            if image.lower().endswith(_IMAGES)
        ]
        random.Random(_SEED).shuffle(items)
        with closing(_contents([path for path, _ in items])) as contents:
            for (path, label), content in zip(items, contents, strict=True):
                yield path, content, label


def _examples(path: str, copy: str) -> Iterator[bytes]:
    """Yields the records of a file, of which there is a local copy."""
    try:
        yield from records.contents(copy)
    except tf.errors.DataLossError as error:
        where = records.broken_in(error, [copy]) or f"{path} is no TFRecord file"
        raise MoxValueError(f"{where.replace(copy, path)}.") from error


def _contents(paths: list[str]) -> Generator[bytes, None, None]:
    if paths and file.is_remote(paths[0]):
        yield from ahead.contents(paths)
    else:
        yield from (Path(path).read_bytes() for path in paths)


def _entries(folder: str) -> list[tuple[str, bool]]:
    """The sorted entries of a folder: the name, and whether it is a folder."""
    with file.scan_dir(folder) as found:
        return sorted((entry.name, entry.is_dir()) for entry in found)


def _kind(src: str) -> tuple[str, list[str]]:
    if not file.is_directory(src):
        raise MoxValueError(f"there is no folder {src}.")
    entries = _entries(src)
    names = [name for name, _ in entries]
    publish.refuse_part(src, names)
    parts = [name for name in names if name.startswith("part-") and name[5:].isdigit()]
    if parts:
        parts.sort(key=lambda name: int(name[5:]))
        missing = set(range(len(parts))) - {int(name[5:]) for name in parts}
        if missing:
            raise MoxValueError(f"{src} has no part-{min(missing)}, but others behind it.")
        return "ofrecord", [os.path.join(src, name) for name in parts]
    records = [name for name in names if ".tfrecord" in name]
    if records:
        return "tfrecord", [os.path.join(src, name) for name in records]
    if not _classes(entries):
        raise MoxValueError(
            f"{src} has neither class folders nor TFRecord files nor OFRecord parts (part-0, ...)."
        )
    return "folders", []


def _classes(entries: Sequence[tuple[str, bool]]) -> list[str]:
    return [name for name, is_folder in entries if is_folder and classes.may_be_class(name)]


def _numbered(src: str, entries: Sequence[tuple[str, bool]]) -> list[str]:
    """The class folders in the order of their labels, by a labels file or else by name."""
    folders = _classes(entries)
    names = _named(src)
    if names:
        classes.check_folders(names, folders, os.path.join(src, LABELS), src)
    return names or folders


def _named(src: str) -> list[str]:
    """The names in the labels file of a folder; an empty list if there is no such file."""
    path = os.path.join(src, LABELS)
    if not file.exists(path):
        return []
    try:
        names = classes.parse(file.read(path, binary=True).decode(), path)
    except UnicodeDecodeError as error:
        raise MoxValueError(f"{path} is not UTF-8 text: {error}. Save it as UTF-8.") from error
    for name in names:
        if name in (".", "..") or "/" in name or "\0" in name:
            raise MoxValueError(f"{path}: the class name {name!r} can't be the name of a folder.")
    return names


def _labels(src: str) -> tuple[list[str], int]:
    """Returns the names of the classes if known, and about how many samples there are."""
    kind, found = _kind(src)
    if kind == "folders":
        names = _numbered(src, _entries(src))
        return names, sum(len(_entries(os.path.join(src, name))) for name in names)
    return _named(src), sum(file.get_size(path) for path in found) // 100_000


def _of_record(place: files.Place, content: bytes) -> Sample:
    record = OFRecord()
    try:
        record.ParseFromString(content)
        image = record.feature["encoded"].bytes_list.value[0]
        label = record.feature["class/label"].int32_list.value[0]
    except Exception as error:
        raise MoxValueError(
            f"{place} has no features 'encoded' (bytes) and 'class/label' (int32)."
        ) from error
    return str(place), image, label


def _of_example(path: str, number: int, content: bytes) -> Sample:
    try:
        feature = tf.train.Example.FromString(content).features.feature
        image = feature["image/encoded"].bytes_list.value[0]
        return f"{path}, record {number}", image, feature["image/class/label"].int64_list.value[0]
    except (IndexError, DecodeError) as error:
        raise MoxValueError(
            f"{path}, record {number} has no features image/encoded and image/class/label."
        ) from error


def _to_records(data: Iterator[Sample], folder: Path, to: str, parts: int) -> tuple[int, int]:
    """Writes the samples to the parts in turn."""
    stem = "part-{}" if to == "ofrecord" else f"data-{{:05d}}-of-{parts:05d}.tfrecord"
    paths = [str(folder / stem.format(part)) for part in range(parts)]
    count = 0
    with ExitStack() as stack:
        if to == "ofrecord":
            writers: Sequence[Any] = [stack.enter_context(files.Writer(path)) for path in paths]
        else:
            writers = [stack.enter_context(tf.io.TFRecordWriter(path)) for path in paths]
        for _, image, label in data:
            writers[count % parts].write(_message(image, label, to))
            count += 1
    if 0 < count < parts:
        raise MoxRuntimeError(f"there are {count} images for {parts} parts. Lower --parts.")
    return count, parts


def _message(image: bytes, label: int, to: str) -> bytes:
    if to == "ofrecord":
        record: Any = OFRecord()
        record.feature["encoded"].bytes_list.value.append(image)
        record.feature["class/label"].int32_list.value.append(label)
    else:
        record = tf.train.Example()
        feature = record.features.feature
        feature["image/encoded"].bytes_list.value.append(image)
        feature["image/format"].bytes_list.value.append(str(extension(image)).encode())
        feature["image/class/label"].int64_list.value.append(label)
    return record.SerializeToString(deterministic=True)


def _to_folders(data: Iterator[Sample], folder: Path, names: list[str]) -> tuple[int, int]:
    count = 0
    for name in names:
        (folder / name).mkdir()
    for _, image, label in data:
        name = names[label] if 0 <= label < len(names) else f"{label:04d}"
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{count:08d}.{extension(image)}").write_bytes(image)
        count += 1
    return count, count
