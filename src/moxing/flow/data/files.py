"""Reads and writes OFRecord files: a record follows its length."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from moxing.errors import MoxValueError
from moxing.framework.file import File, ahead, is_file, is_remote, list_directory, publish
from moxing.framework.file.handle import open_whole

_LENGTH = struct.Struct("<q")
MOST_BYTES = 64 << 20  # The most bytes of a record.
_BUFFER = 1 << 20
_MEND = "Write or copy the file again."


@dataclass(frozen=True)
class Place:
    """The position of a record: its file, its number from 0, and the message's bytes there."""

    path: str
    number: int
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.path}, record {self.number} (at byte {self.offset - _LENGTH.size})"


def part_paths(folder: str, count: int, prefix: str = "part-", digits: int = -1) -> list[str]:
    """Returns `folder/part-0`, ...; numbers are padded with zeros to `digits` if positive."""
    return [os.path.join(folder, f"{prefix}{n:0{max(digits, 1)}d}") for n in range(count)]


def missing(paths: Sequence[str]) -> str | None:
    """Returns the first missing file of a folder's files; lists a store only once.

    Raises:
        MoxValueError: the folder is incomplete.
        OSError: the store can't be read.
    """
    folder = os.path.dirname(paths[0])
    publish.refuse_part(folder)
    present: set[str] = set()
    if is_remote(folder):
        with contextlib.suppress(FileNotFoundError):
            present.update(list_directory(folder, skip_dir=True))
    # A file that is not listed may still be there: a store may list late.
    return next((p for p in paths if os.path.basename(p) not in present and not is_file(p)), None)


def read(path: str, opened: Any = None) -> Iterator[tuple[Place, bytes]]:
    """The records of a file.

    Args:
        path: the file, local or in a store.
        opened: the file, if it is open already; it is closed at the end.

    Raises:
        MoxValueError: the file is torn, or is no OFRecord file.
        OSError: the file can't be read.
    """
    with opened or _open(path) as file:
        offset = 0
        for number in itertools.count():
            head = file.read(_LENGTH.size)
            if not head:
                return
            begin = offset + _LENGTH.size
            if len(head) < _LENGTH.size:
                place = Place(path, number, begin, 0)
                raise MoxValueError(f"{place} is cut short: the file ends in its length. {_MEND}")
            (length,) = _LENGTH.unpack(head)
            place = Place(path, number, begin, length)
            if not 0 <= length <= MOST_BYTES:
                raise MoxValueError(
                    f"{place} has the length {length}, which is not between 0 and {MOST_BYTES}: the"
                    f" file is damaged or no OFRecord file. {_MEND}"
                )
            content = file.read(length)
            if len(content) < length:
                raise MoxValueError(
                    f"{place} is cut short: it should have {length} bytes, and the file ends after"
                    f" {len(content)}. {_MEND}"
                )
            yield place, content
            offset = begin + length


def _open(path: str) -> Any:
    if is_remote(path):
        return open_whole(path)
    return open(path, "rb", buffering=_BUFFER)


def read_at(place: Place) -> bytes:
    """Reads again the record at a position that was read before."""
    with File(place.path, "rb") as file:
        file.seek(place.offset)
        return file.read(place.length)


def endless(paths: Sequence[str], skipped: int = 0) -> Iterator[tuple[Place, bytes]]:
    """The records of all files, endlessly; files in a store are opened ahead.

    Args:
        paths: the files, in order.
        skipped: how many of the first records to leave out. They may be more than the files have:
            at most two rounds of the files are read for them.

    Raises:
        MoxValueError: there is no record.
    """
    away, before = any(is_remote(path) for path in paths), skipped
    while True:
        empty = True
        opened = ahead.each(paths, _open, 1) if away else itertools.repeat(None)
        for path, file in zip(paths, opened, strict=False):
            for item in read(path, file):
                empty = False
                if skipped:
                    skipped -= 1
                    continue
                yield item
        if empty:
            others = f" nor in the {len(paths) - 1} behind it" if len(paths) > 1 else ""
            raise MoxValueError(f"there is no record in {paths[0]}{others}. {_MEND}")
        if skipped:
            skipped %= before - skipped


class Writer:
    """Writes messages (OFRecord, or their bytes) to a file, as a context manager."""

    def __init__(self, path: str) -> None:
        """Args: path: of a file, which is replaced."""
        self.path, self.count = path, 0
        self._file = open(path, "wb", buffering=_BUFFER)  # noqa: SIM115

    def write(self, record: Any) -> None:
        """Appends one record.

        Raises:
            MoxValueError: the record is larger than readers accept.
        """
        content = record if isinstance(record, bytes) else record.SerializeToString()
        if len(content) > MOST_BYTES:
            raise MoxValueError(
                f"{self.path}, record {self.count} has {len(content)} bytes; readers take up to"
                f" {MOST_BYTES}."
            )
        self._file.write(_LENGTH.pack(len(content)) + content)
        self.count += 1

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def write(path: str, records: Iterable[Any]) -> int:
    """Writes all messages to a file; returns how many."""
    with Writer(path) as writer:
        for record in records:
            writer.write(record)
    return writer.count
