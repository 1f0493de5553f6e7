"""Finds the start of each record in TFRecord files, reading little more than the records' heads.

A record is its length (8 bytes), a checksum of the length (4), the content, and a checksum of the
content (4). Format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets.folders.progress import Progress

HEAD, TAIL = 12, 4
_THREADS = 16  # Threads mostly wait for the disk or network.
_CHUNK = 1 << 18
_SMALL = 1 << 13  # For smaller records, reading the whole file is faster.


@dataclass(frozen=True)
class RecordFile:
    """A TFRecord file, with the positions of its records.

    Attributes:
        path: the path of the file.
        starts: the first byte of each record, and the byte after the last record; int64 of shape
            [records + 1].
        damage: a description of the damage that hides later records; "" if there is none.
    """

    path: str
    starts: np.ndarray
    damage: str = ""

    @property
    def count(self) -> int:
        return len(self.starts) - 1


def index_files(paths: Sequence[str]) -> list[RecordFile]:
    """Returns the records of files, in the order of the files; logs progress if that takes long.

    Raises:
        MoxValueError: a file can't be read, or is not a TFRecord file.
    """
    progress = Progress(f"Finding the records of {len(paths)} files", len(paths))
    found: dict[str, RecordFile] = {}
    records = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        jobs = [pool.submit(index_file, path) for path in paths]
        try:
            for job in as_completed(jobs):
                file = job.result()
                found[file.path] = file
                records += file.count
                progress.update(len(found), f"{records:,} records")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    files = [found[path] for path in paths]
    for file in files:
        if file.damage:
            TENSORFLOW.warning("%s", file.damage)
    return files


def index_file(path: str) -> RecordFile:
    """Returns the records of one file."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise MoxValueError(f"{path} can't be read: {error.strerror}.") from error
    try:
        size = os.fstat(descriptor).st_size
        starts, heads = _walk(descriptor, size)
    except OSError as error:
        raise MoxValueError(f"{path} can't be read: {error.strerror}.") from error
    finally:
        os.close(descriptor)
    return _checked(path, size, starts, heads)


def _walk(descriptor: int, size: int) -> tuple[list[int], list[bytes]]:
    """Returns the starts and heads of records, up to the first invalid length."""
    starts, heads = [0], []
    place, chunk, chunk_start, wanted = 0, b"", 0, _CHUNK
    while place + HEAD + TAIL <= size:
        offset = place - chunk_start
        if offset + HEAD > len(chunk):
            chunk, chunk_start, offset = os.pread(descriptor, wanted, place), place, 0
            if len(chunk) < HEAD:
                break
        (length,) = struct.unpack_from("<Q", chunk, offset)
        following = place + HEAD + length + TAIL
        heads.append(chunk[offset : offset + HEAD])
        if following > size:
            break
        starts.append(following)
        wanted = _CHUNK if length < _SMALL else HEAD
        place = following
    return starts, heads


def _checked(path: str, size: int, starts: list[int], heads: list[bytes]) -> RecordFile:
    """Returns the file with its records up to the first one that is damaged or cut off."""
    good = _count_good(heads)
    if good < len(heads):
        if good == 0:
            raise MoxValueError(f"{path} is not a TFRecord file{_hint(heads[0])}.")
        return RecordFile(
            path,
            np.array(starts[: good + 1], np.int64),
            f"{path}: the head of record {good} (byte {starts[good]:,}) is damaged; it and all that"
            " follow can't be found.",
        )
    if starts[-1] < size:
        count = len(starts) - 1
        if count == 0 and not heads:
            raise MoxValueError(f"{path} is not a TFRecord file: it has only {size} bytes.")
        return RecordFile(
            path,
            np.array(starts, np.int64),
            f"{path} is cut off in the middle of record {count} (byte {size:,}).",
        )
    return RecordFile(path, np.array(starts, np.int64))


def _hint(head: bytes) -> str:
    return f": it begins with {head!r}"


def is_head(head: bytes) -> bool:
    """Whether these `HEAD` bytes are the head of a record."""
    return len(head) == HEAD and _count_good([head]) == 1


def _count_good(heads: Sequence[bytes]) -> int:
    """Returns the number of leading heads with a correct checksum."""
    if not heads:
        return 0
    table = np.frombuffer(b"".join(heads), np.uint8).reshape(-1, HEAD)
    right = masked_crc32c(table[:, :8]) == table[:, 8:].copy().view("<u4")[:, 0]
    return len(heads) if right.all() else int(right.argmin())


def masked_crc32c(rows: np.ndarray) -> np.ndarray:
    """Returns the TFRecord checksum of each row of uint8 [n, length], as uint32 [n].

    The checksum is a CRC-32C (RFC 3720, B.4), rotated, plus a constant.
    """
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in range(rows.shape[1]):
        crc = _CRC_TABLE[(crc ^ rows[:, column]) & 0xFF] ^ (crc >> np.uint32(8))
    crc ^= np.uint32(0xFFFFFFFF)
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)


def _crc_table() -> np.ndarray:
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> 1) ^ np.uint32(0x82F63B78), crc >> 1)
    return crc


_CRC_TABLE = _crc_table()
