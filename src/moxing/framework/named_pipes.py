"""Refuses named pipes, in which a reader would wait for a writer that may never come."""

from __future__ import annotations

import errno
import os
import stat

# Shells lead to open pipes by these names: `mox port <(unzip -p x.zip train.py)`.
_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/")


def refuse(path: str | os.PathLike[str]) -> None:
    """Checks a file that is about to be read.

    Raises:
        OSError: the path is a named pipe, or there is no such file.
    """
    if stat.S_ISFIFO(os.stat(path).st_mode) and not os.fspath(path).startswith(_OPEN):
        raise OSError(errno.EINVAL, "it is a named pipe, and no file", os.fspath(path))
