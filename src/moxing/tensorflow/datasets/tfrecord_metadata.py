"""Metadata of TFRecord files: their paths, the number of their records, and their labels."""

from __future__ import annotations

import fnmatch
import glob
import os
import threading
from collections.abc import Sequence
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError
from moxing.framework import file
from moxing.framework.file import publish
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import arguments, labels, storage
from moxing.tensorflow.datasets.tfrecords import compressed, record_index
from moxing.tensorflow.datasets.tfrecords.record_index import RecordFile
from moxing.tensorflow.datasets.tfrecords.records import Records

_SHOWN = 5


class BaseTFRecordMetadata:
    """The TFRecord files of a folder that match a pattern. It makes no operations.

    A metadata object finds the starts of records once, by reading the records' heads: at
    construction, or, if num_samples is given, when the first reader needs them.

    Args:
        base_dir: the folder of the files.
        file_pattern: a shell pattern relative to the folder, such as 'train-*.tfrecord', or a list
            of patterns.
        num_samples: the number of records; None: count them now.
        redirect_dir: if given, the folder to read instead of `base_dir`.
        file_patterns: another name of file_pattern.

    Attributes:
        base_dir: the folder that is read.
        files: the sorted paths of the files.
        total_num_samples, num_samples: the number of records.

    Raises:
        MoxValueError: the folder does not exist, no file matches, or a file is not a TFRecord file.
    """

    def __init__(
        self,
        base_dir: str | os.PathLike[str],
        file_pattern: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        redirect_dir: str | os.PathLike[str] | None = None,
        *,
        file_patterns: str | Sequence[str] | None = None,
    ) -> None:
        self._name = type(self).__name__
        name, path = ("redirect_dir", redirect_dir) if redirect_dir else ("base_dir", base_dir)
        self.base_dir = arguments.path(self._name, name, path)
        given = [pattern for pattern in (file_pattern, file_patterns) if pattern]
        if len(given) != 1:
            raise MoxTypeError(
                f"{self._name}: give file_pattern, such as '*.tfrecord'"
                + (", or file_patterns, not both." if given else ".")
            )
        self.files = _matching(self.base_dir, given[0])
        self._lock = threading.Lock()
        self._index: list[RecordFile] | None = None
        self._cached = False
        self.total_num_samples = self._count(
            arguments.optional_count(self._name, "num_samples", num_samples, 1)
        )
        self.num_samples = self.total_num_samples

    def _count(self, given: int | None) -> int:
        TENSORFLOW.info("Find tfrecord files. Using tfrecord files in this job.")
        if given is not None:
            return given
        TENSORFLOW.info(
            "Automatically extracting num_samples from tfrecord: %d files in %s. Pass num_samples"
            " to do that later.",
            len(self.files),
            self.base_dir,
        )
        return sum(found.count for found in self.index())

    def index(
        self, cache_dir: str | os.PathLike[str] | None = None, remove_cache: bool = True
    ) -> list[RecordFile]:
        """Returns the records of each file, which are found once.

        Args:
            cache_dir: the folder for copies of the files; None: read local files directly. Files in
                an object store are always copied, and compressed files decompressed; the default
                folder for these is the one for the temporary files of mox.file.
            remove_cache: whether to delete the copies when the process ends.

        Raises:
            MoxValueError: a file can't be read or is not a TFRecord file, or no file has a record.
        """
        with self._lock:
            if self._index is None or (cache_dir is not None and not self._cached):
                local = compressed.plain(
                    self._local_files(cache_dir, remove_cache), cache_dir, remove_cache
                )
                self._index = record_index.index_files(local)
                self._cached = cache_dir is not None
            if not any(found.count for found in self._index):
                raise MoxValueError(f"{self._name}: {_some(self.files)} have no records.")
            return self._index

    def _local_files(
        self, cache_dir: str | os.PathLike[str] | None, remove_cache: bool
    ) -> list[str]:
        if cache_dir is None and not file.is_remote(self.base_dir):
            return self.files
        names = [os.path.relpath(path, self.base_dir) for path in self.files]
        folder = storage.local_copy(self.base_dir, cache_dir, remove_cache, names)
        return [os.path.join(folder, name) for name in names]

    def records(
        self,
        skip_bad: bool,
        cache_dir: str | os.PathLike[str] | None = None,
        remove_cache: bool = True,
    ) -> Records:
        """Returns the records for a reader.

        Args:
            cache_dir, remove_cache: see `index`.
            skip_bad: whether to accept a file whose damage hides later records, and to read the
                records before the damage.

        Raises:
            MoxValueError: see `index`; or a file is damaged.
        """
        index = self.index(cache_dir, remove_cache)
        damaged = [found.damage for found in index if found.damage]
        if damaged and not skip_bad:
            raise MoxValueError(
                f"{damaged[0]} Write the file again, or pass skip_bad=True to use the records"
                " before that."
            )
        found = Records(index)
        if found.count != self.total_num_samples:
            TENSORFLOW.warning(
                "%s: num_samples=%d was given, but there are %d records in %d files; each epoch has"
                " all of them.",
                self._name,
                self.total_num_samples,
                found.count,
                len(self.files),
            )
        return found


class ImageClassificationTFRecordMetadata(BaseTFRecordMetadata):
    """TFRecord files of labeled images, as slim's converters and `mox convert` write them.

    Args:
        base_dir, file_pattern, num_samples, redirect_dir, file_patterns: see
            `BaseTFRecordMetadata`.
        num_classes: the number of classes; 0: as many as the labels file has.
        label_map_file: the name of a file in the folder with lines such as `0: daisy`; the file
            need not exist.

    Attributes:
        num_classes: the number of classes; 0 if it is unknown.
        labels_list: the names of classes by number; empty if they are unknown.
        labels_to_names, names_to_labels: dicts between class numbers and names.
    """

    def __init__(
        self,
        base_dir: str | os.PathLike[str],
        file_pattern: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        redirect_dir: str | os.PathLike[str] | None = None,
        num_classes: int = 0,
        label_map_file: str = "labels.txt",
        *,
        file_patterns: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            base_dir, file_pattern, num_samples, redirect_dir, file_patterns=file_patterns
        )
        wanted = arguments.count(self._name, "num_classes", num_classes, 0)
        path = os.path.join(self.base_dir, label_map_file)
        self.labels_list = labels.read(path) or []
        self.labels_to_names = dict(enumerate(self.labels_list))
        self.names_to_labels = {name: label for label, name in self.labels_to_names.items()}
        if self.labels_list:
            TENSORFLOW.info("Labels (%s): %s", path, labels.describe(self.labels_list))
        if wanted and len(self.labels_list) > wanted:
            raise MoxValueError(
                f"{self._name}: num_classes={wanted}, but {path} has {len(self.labels_list)}."
            )
        self.num_classes = wanted or len(self.labels_list)


def _matching(folder: str, patterns: Any) -> list[str]:
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    found = {
        path
        for pattern in wanted
        for path in file.glob(os.path.join(glob.escape(folder), pattern))
        if file.is_file(path)  # type: ignore[attr-defined]
    }
    if found:
        publish.refuse_part(folder)
        return sorted(found)
    present = sorted(name for name, _ in storage.entries(folder))
    shown = ", ".join(repr(pattern) for pattern in wanted)
    raise MoxValueError(
        f"no file in {folder} matches {shown}. {_held(present)}{_near(present, wanted)}"
    )


def _held(present: Sequence[str]) -> str:
    return f"It holds {len(present)} files: {_some(present)}." if present else "It is empty."


def _near(present: Sequence[str], patterns: Sequence[str]) -> str:
    """Returns a hint at a pattern that matches because it leaves out the extension; else ""."""
    for pattern in patterns:
        wider = os.path.splitext(pattern)[0].rstrip("*") + "*"
        if wider != "*" and fnmatch.filter(present, wider):
            return f" {wider!r} would match."
    return ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}, ..."
