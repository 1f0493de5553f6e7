"""Replaces local files atomically, so that a reader finds the old file or the new one."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator

_START, _END = ".mox-", ".part"


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is a temporary file of an unfinished `replacing`."""
    return name.startswith(_START) and name.endswith(_END)


@contextlib.contextmanager
def replacing(
    path: str, *, like: str | None = None, aside: str | None = None, sync: bool = False
) -> Iterator[int]:
    """In the block, the descriptor of a file that replaces `path` if the block succeeds.

    After an error, the file at `path`, if any, is unchanged.

    Args:
        path: the path of the file to replace or create.
        like: a file whose permission bits the new file gets; None: those of any new file.
        aside: the folder in which the file is written, on the file system of `path`; default: the
            folder of `path`.
        sync: whether the content is synced to the disk before the file is put in place.

    Raises:
        OSError: the file can't be written.
    """
    folder = aside or os.path.dirname(path) or "."
    beside = os.path.join(folder, f"{_START}{uuid.uuid4().hex}{_END}")
    fd = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            yield fd
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        if like is not None:
            shutil.copymode(like, beside)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def replace(
    path: str, content: Iterable[bytes], *, aside: str | None = None, sync: bool = False
) -> None:
    """Replaces a file by the concatenated parts of `content`; see `replacing`."""
    with replacing(path, aside=aside, sync=sync) as fd:
        for part in content:
            write_all(fd, part)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Writes all of `data` at the current position of `fd`."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
