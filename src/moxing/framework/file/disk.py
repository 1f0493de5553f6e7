"""Local files and directories, as the file API writes and tells them apart."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from moxing.framework import atomic
from moxing.framework.file.errors import MoxFileNameDuplicateException


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory; False for a link that leads around in a circle."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def identity(path: str | os.DirEntry[str]) -> tuple[int, int]:
    """What tells a file or directory from all others of the machine, under whatever name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def replacing(path: str, like: str | None = None) -> Iterator[int]:
    """A file descriptor whose file takes the place of `path` when the block ends well.

    Missing parents are made. After an error the file at `path`, if any, is as it was.

    Args:
      path: where the file shall be.
      like: a file whose permission bits it gets; by default those of any new file.

    Raises:
      MoxFileNameDuplicateException: a directory, or a file in the place of a parent, is there.
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
    """Copies bytes from one open file into another; how many there were."""
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
