"""Files that survive a crash: written aside, synced, and then renamed into place."""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from collections.abc import Iterable

from moxing.framework import atomic

_CHUNK = 4 << 20  # Bytes; larger reads leave the processor's cache.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def write(path: str, content: bytes) -> None:
    """Writes a file and waits until it is on the disk."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: str, content: bytes, aside: str) -> None:
    """Replaces the file at `path` in one step; `aside` is a directory on the same file system."""
    atomic.replace(path, (content,), aside=aside, sync=True)


def sync(paths: Iterable[str]) -> None:
    """Waits until the files' contents are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_directory(path: str) -> None:
    """Waits until the names in a directory are on the disk, where its file system can do that."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def link_or_copy(source: str, target: str) -> None:
    """Makes a hard link `target` to a file, or a copy on file systems without hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, target)
        sync([target])


def digest(path: str) -> str:
    """`crc32:` and eight hexadecimal digits, computed while streaming the file.

    Like TensorFlow's own CRC of each tensor, it guards against damage, not against tampering. A
    CRC-32 processes several gigabytes per second on any processor. SHA-256 does so only on
    processors with instructions for it, and its cost would be paid at each save and each start.
    """
    value = 0
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            value = zlib.crc32(view[:count], value)
    return worded(value)


def worded(crc: int) -> str:
    """Returns a CRC-32 as `digest` words it."""
    return f"crc32:{crc:08x}"
