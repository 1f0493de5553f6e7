"""Turns errors of the operating system during a save into an error for the user."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing.errors import CheckpointError

_REMEDIES = {
    errno.ENOSPC: "Free space on that disk.",
    errno.EDQUOT: "Free space within the quota of that disk.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f).",
    errno.EACCES: "Make the directory writable.",
    errno.EPERM: "Make the directory writable.",
    errno.EROFS: "Choose a file system that can be written.",
    errno.ENOENT: "The directory, or a part of its path, has been removed during the run.",
    errno.EIO: "The disk may be failing.",
}
# Error numbers to look for by their text: TensorFlow gives a system error's text, not its number.
_NUMBERS = (*_REMEDIES, errno.ENOTDIR, errno.EBADF, errno.ESTALE, errno.EISDIR, errno.ENAMETOOLONG)


@contextmanager
def told_as(prefix: str) -> Iterator[None]:
    """Raises system errors of the block as a `CheckpointError` about the checkpoint `prefix`."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            _message(prefix, error.errno, error.strerror or str(error))
        ) from error
    except tf.errors.OpError as error:
        number = _number_in(error.message)
        if number is None:
            raise  # Not a disk error: an uninitialized variable, no memory, a lost device.
        raise CheckpointError(_message(prefix, number, os.strerror(number))) from error


def _message(prefix: str, number: int | None, text: str) -> str:
    code = f"[Errno {number}] " if number is not None else ""
    remedy = _REMEDIES.get(number or 0, "")
    return (
        f"Could not save checkpoint {prefix}: {code}{text}. {remedy}".rstrip()
        + " Checkpoints saved earlier are as they were."
    )


def _number_in(text: str) -> int | None:
    return next((number for number in _NUMBERS if os.strerror(number) in text), None)
