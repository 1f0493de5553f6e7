"""Shows users the directory that they named, instead of the local directory that stands for it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from moxing.errors import MoxError
from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

# The local directories of the runs under way in this process, by the user's names for them.
_standing: dict[str, str] = {}


@contextmanager
def standing(name: str, local: str) -> Iterator[None]:
    """Lets log lines and errors of the block name `name` instead of `local`.

    Args:
        name: the user's name for the directory, such as `s3://bucket/output`.
        local: the local directory that stands for it. If `name` has a local directory already,
            `local_path` keeps returning the first.
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
        # An error of the operating system is about the local disk, which the user's name does not
        # show.
        here = (
            f" {name} is kept in {tuning.staging_dir()} until it is uploaded; MOX_FILE_CACHE_DIR"
            " moves it."
        )
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
    """Returns the text with the user's names of directories instead of the local paths."""
    for name, local in _standing.items():
        text = text.replace(local, name)
    return text


def local_path(name: str) -> str:
    """Returns the local directory that stands for `name` in the current run; else `name`."""
    return _standing.get(tidy(name), name)


def tidy(name: str) -> str:
    """Returns a directory's name without a slash at its end."""
    return name.rstrip("/") or os.sep
