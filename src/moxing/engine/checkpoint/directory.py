"""Makes a run's directory, or says why it can't be made."""

from __future__ import annotations

import errno
import os
import stat
import tempfile

from moxing.engine.checkpoint.names import POINTER, is_member
from moxing.engine.wording.option_names import option
from moxing.errors import MoxRuntimeError, MoxValueError


def ensure_directory(path: str, what: str | None = None) -> None:
    """Makes a directory and its parents, and makes sure that files can be written there.

    Args:
        path: path of the directory, which may exist.
        what: name of the directory in messages; None: the name of the option `log_dir`.

    Raises:
        MoxValueError: the path is empty, or a file is in the way.
        MoxRuntimeError: the operating system refuses.
    """
    what = option("log_dir") if what is None else what
    if not path:
        raise MoxValueError(
            f"{what} is an empty string. Give it a directory, or None to write no files."
        )
    refuse_file(path, what)
    try:
        os.makedirs(path, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except RecursionError:
        raise MoxValueError(
            f"{what} has {path.count(os.sep)} directories inside each other. Choose another {what}."
        ) from None
    except OSError as error:
        raise MoxRuntimeError(
            f"Can't write into {what} {path!r}: [Errno {error.errno}] {error.strerror}. Make it"
            f" writable, or choose another {what}."
        ) from error


def refuse_in_the_way(directory: str) -> None:
    """Raises if no file can take the name that a checkpoint's file has, or will have.

    Raises:
        MoxRuntimeError: a directory, or a link that leads to itself, has such a name.
    """
    with os.scandir(directory) as entries:
        members = [e for e in entries if e.name == POINTER or is_member(e.name)]
    for entry in members:
        try:
            kind = "a directory" if stat.S_ISDIR(entry.stat().st_mode) else ""
        except OSError as error:
            kind = "a link that leads to itself" if error.errno == errno.ELOOP else ""
        if kind:
            raise MoxRuntimeError(
                f"{entry.path} is {kind}, where checkpoints have a file. Move it away, or choose"
                f" another {option('log_dir')}."
            )


def refuse_file(path: str, what: str) -> None:
    """Raises if a path can't be a directory; creates nothing.

    Raises:
        MoxValueError: a file is in the way.
    """
    if (file := _file_in_the_way(path)) is not None:
        raise MoxValueError(
            f"{what} {path!r} can't be a directory: {file} is"
            f" {'a link that leads nowhere' if os.path.islink(file) else 'a file'}. Choose another"
            f" {what}."
        )


def _file_in_the_way(path: str) -> str | None:
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path if path and not os.path.isdir(path) else None
