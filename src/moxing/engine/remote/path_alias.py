"""Shows users the directory they named wherever the local one that stands for it would appear."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from moxing.errors import MoxError
from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

# Of the runs under way in this process: what the user named, and the directory that stands for it.
_standing: dict[str, str] = {}


@contextmanager
def standing(name: str, local: str) -> Iterator[None]:
    """Lets log lines and errors of the block name `name` instead of `local`.

    Args:
        name: what the user calls it, such as `s3://bucket/output`.
        local: the directory that stands for it. Where there is one already, this is another one,
            and `local_path` keeps to the first.
    """

    def rename(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if local in message:
            record.msg, record.args = message.replace(local, name), None
        return True

    first = _standing.setdefault(name, local) == local
    TENSORFLOW.addFilter(rename)
    try:
        yield
    except MoxError as error:
        # The system's errors are of the local disk, which the user's name does not tell.
        here = f" {name} stands in {tuning.staging_dir()} meanwhile; MOX_FILE_CACHE_DIR moves it."
        error.args = tuple(
            part.replace(local, name) + (here if local in part and "[Errno " in part else "")
            if isinstance(part, str)
            else part
            for part in error.args
        )
        raise
    finally:
        TENSORFLOW.removeFilter(rename)
        if first:
            del _standing[name]


def named(text: str) -> str:
    """The text with what users call their directories, instead of those that stand for them."""
    for name, local in _standing.items():
        text = text.replace(local, name)
    return text


def local_path(name: str) -> str:
    """The directory that stands for `name` in the run under way; `name` itself where none does."""
    return _standing.get(tidy(name), name)


def tidy(name: str) -> str:
    """A directory's name without the slash at its end."""
    return name.rstrip("/") or os.sep
