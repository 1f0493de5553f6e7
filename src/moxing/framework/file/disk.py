"""Writes and identifies local files and directories for the file API."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from moxing.framework import atomic
from moxing.framework.file.errors import MoxFileNameDuplicateException


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory; False for a circular link."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def identity(path: str | os.DirEntry[str]) -> tuple[int, int]:
    """Returns the (device, inode) that identifies a file or directory under any name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def replacing(path: str, like: str | None = None) -> Iterator[int]:
    """In the block, the descriptor of a file that replaces `path` if the block succeeds.

    Missing parents are created. After an error, the file at `path`, if any, is unchanged.

    Args:
      path: the path of the file to replace or create.
      like: a file whose permission bits the new file gets; None: those of any new file.

    Raises:
      MoxFileNameDuplicateException: `path` is a directory, or a parent is a file.
    """
    parent = os.path.dirname(path) or "."
    try:
        os.makedirs(parent, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise MoxFileNameDuplicateException(
            f"{path} can't be written: a file stands where its directory {parent} has to be",
            url=path,
        ) from None
    if os.path.isdir(path):
        raise MoxFileNameDuplicateException(
            f"{path} can't be written: a directory of that name is there", url=path
        )
    with atomic.replacing(path, like=like) as fd:
        yield fd


def copy_span(src: int, start: int, size: int, dst: int, at: int, piece: int = 1 << 20) -> int:
    """Copies bytes from one open file to another; returns the number of bytes copied."""
    done = 0
    while done < size:
        data = os.pread(src, min(piece, size - done), start + done)
        if not data:
            break
        view = memoryview(data)
        while view:
            written = os.pwrite(dst, view, at + done)
            done += written
            view = view[written:]
    return done
