"""Decompresses TFRecord files (gzip or zlib), because records are read in arbitrary order.

TensorFlow's writer makes such files with `tf.io.TFRecordOptions`. They do not show where a record
starts, so each file is decompressed once, into the folder of copies, and the copy is read.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import atomic
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import storage
from moxing.tensorflow.datasets.tfrecords import record_index

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_ANY_HEADER = 32 + zlib.MAX_WBITS  # Tells zlib to accept the header of gzip or of zlib.
_THREADS = 4


def plain(
    paths: Sequence[str], cache_dir: str | os.PathLike[str] | None, remove: bool
) -> list[str]:
    """Returns the files, with compressed files replaced by decompressed copies.

    Args:
        paths: the paths of local files.
        cache_dir, remove: see `storage.local_copy`.

    Raises:
        MoxValueError: the compressed data of a file is damaged or cut off.
        MoxRuntimeError: a copy can't be written.
    """
    packed = [path for path in paths if is_compressed(path)]
    if not packed:
        return list(paths)
    root = storage.copies(cache_dir)
    targets = {path: _target(root, path) for path in packed}
    TENSORFLOW.info("Decompressing %d TFRecord files to %s", len(packed), root)
    for target in targets.values():
        if remove:
            atexit.register(shutil.rmtree, os.path.dirname(target), ignore_errors=True)
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(_decompress, targets.keys(), targets.values()))
    return [targets.get(path, path) for path in paths]


def is_compressed(path: str) -> bool:
    """Whether a file starts like gzip or zlib data, and not like a record."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(record_index.HEAD)
    except OSError:
        return False  # The reader of the file reports the error.
    if len(head) < 2 or record_index.is_head(head):
        return False
    return head.startswith(_GZIP) or (head[0] == 0x78 and int.from_bytes(head[:2], "big") % 31 == 0)


def _target(root: str, path: str) -> str:
    status = os.stat(path)
    key = f"{os.path.abspath(path)}\0{status.st_size}\0{status.st_mtime_ns}"
    folder = f"records-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return os.path.join(root, folder, os.path.basename(path))


def _decompress(path: str, target: str) -> None:
    if os.path.exists(target):
        return
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder, exist_ok=True)
        atomic.replace(target, _content(path))
    except OSError as error:
        raise MoxRuntimeError(
            f"{path} can't be decompressed to {target}: {storage.reason(error)}. Free some space,"
            " or pass cache_dir."
        ) from error


def _content(path: str) -> Iterator[bytes]:
    """Yields the decompressed content of all gzip members in turn."""
    with open(path, "rb") as stream:
        decoder, begun = zlib.decompressobj(_ANY_HEADER), False
        while data := stream.read(_CHUNK):
            while data:
                begun = True
                try:
                    # A few bytes may stand for a thousand times as many.
                    piece = decoder.decompress(data, _CHUNK)
                    yield piece
                    while not decoder.eof and (decoder.unconsumed_tail or len(piece) == _CHUNK):
                        piece = decoder.decompress(decoder.unconsumed_tail, _CHUNK)
                        yield piece
                except zlib.error as error:
                    raise MoxValueError(
                        f"{path} is compressed, but damaged: {error}. Write it again."
                    ) from error
                data = decoder.unused_data
                if decoder.eof:
                    decoder, begun = zlib.decompressobj(_ANY_HEADER), False
        if begun:
            raise MoxValueError(f"{path} is cut off in its compressed data. Write it again.")
