"""What a set of TFRecord files holds: their names, the number of their records, their labels."""

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
    """The TFRecord files of a folder that match a pattern. It makes no graph.

    Where the records begin is found by reading their heads, once for each metadata object: at
    construction, or, where num_samples is given, when the first reader is made.

    Args:
        base_dir: the folder.
        file_pattern: a shell pattern such as 'train-*.tfrecord', or a list of such, within it.
        num_samples: how many records there are, if that is known; None: count them now.
        redirect_dir: read the files from here instead of `base_dir`, if given.
        file_patterns: another name of file_pattern.

    Attributes:
        base_dir: the folder that is read.
        files: paths of the files, sorted.
        total_num_samples, num_samples: how many records there are.

    Raises:
        MoxValueError: no such folder, no file that matches, or one that is no TFRecord file.
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
        """The records of each file, found once.

        Args:
            cache_dir: read copies of the files in this folder. Files in an object store are always
                copied, and compressed ones decompressed, by default to where mox.file keeps
                temporary files.
            remove_cache: whether to delete the copies when the process ends.

        Raises:
            MoxValueError: a file that can't be read, or is no TFRecord file; or none has a record.
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
        """The records, for a reader.

        Args:
            cache_dir, remove_cache: see `index`.
            skip_bad: whether to be content with the records before the damage where a file is
                damaged so that those behind it can't be found.

        Raises:
            MoxValueError: what `index` raises, or a damaged file.
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
        num_classes: how many classes there are; 0: as many as the labels file has.
        label_map_file: name of a file in the folder with lines `0: daisy`; it need not be there.

    Attributes:
        num_classes: 0 where it is not known.
        labels_list: names by number; empty where they are not known.
        labels_to_names, names_to_labels: the same as dicts.
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
    """A pattern that would match, if leaving out the extension is all it takes."""
    for pattern in patterns:
        wider = os.path.splitext(pattern)[0].rstrip("*") + "*"
        if wider != "*" and fnmatch.filter(present, wider):
            return f" {wider!r} would match."
    return ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}, ..."
