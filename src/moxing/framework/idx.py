"""Reads idx files, the format of MNIST (yann.lecun.com/exdb/mnist), gzipped or not."""

from __future__ import annotations

import math
import os
import struct
import zlib

import numpy as np

from moxing.errors import MoxRuntimeError, MoxValueError

# Third byte 8: unsigned bytes; fourth byte: number of dimensions.
IMAGES, LABELS = 0x00000803, 0x00000801
_GZIP = b"\x1f\x8b"
# Tells zlib to expect a gzip header and checksum.
_GZIP_WBITS = 31


def read(path: str | os.PathLike[str], magic: int) -> np.ndarray:
    """Reads the array of unsigned bytes in an idx file.

    Args:
        path: the path of the file, gzipped or not.
        magic: `IMAGES` or `LABELS`.

    Returns:
        A uint8 array, of shape [number, rows, columns] for images or [number] for labels.

    Raises:
        MoxRuntimeError: the file cannot be read or is damaged.
        MoxValueError: the file has another format or kind.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise MoxRuntimeError(f"cannot read {os.fspath(path)}: {error.strerror}.") from error
    return parse(data, magic, os.fspath(path))


def parse(data: bytes, magic: int, name: str) -> np.ndarray:
    """Returns the array in the bytes of an idx file with the name `name`; see `read`."""
    if data.startswith(_GZIP):
        data = _unzip(data, name)
    found = int.from_bytes(data[:4], "big") if len(data) >= 4 else None
    if found != magic:
        kind = "images" if magic == IMAGES else "labels"
        raise MoxValueError(
            f"{name} is not an idx file of {kind}: it starts with {data[:4].hex(' ') or 'nothing'},"
            f" not with {magic.to_bytes(4, 'big').hex(' ')}. Download or copy it again."
        )
    dimensions = magic & 0xFF
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise _damaged(name, f"its header ends after {len(data)} of {start} bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    expected = start + math.prod(shape)
    if len(data) != expected:
        raise _damaged(name, f"it holds {len(data)} bytes, its header promises {expected}")
    # Make a copy, because arrays over bytes are read-only.
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape).copy()


def _unzip(data: bytes, name: str) -> bytes:
    parts: list[bytes] = []
    # A gzip file may have several members in sequence.
    while data.startswith(_GZIP):
        decoder = zlib.decompressobj(_GZIP_WBITS)
        try:
            parts.append(decoder.decompress(data))
        except zlib.error as error:
            raise _damaged(name, f"it cannot be unzipped ({error})") from error
        if not decoder.eof:
            raise _damaged(name, "it ends in the middle of its gzip data")
        data = decoder.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _damaged(name: str, how: str) -> MoxRuntimeError:
    return MoxRuntimeError(f"{name} is damaged: {how}. Download or copy it again.")
