"""Adds hints to errors of functions that got a URL but accept only local paths."""

from __future__ import annotations

import builtins
import contextlib
import re
import sys
import types

from moxing.framework.file.errors import MoxFileError
from moxing.framework.file.urls import is_remote

_SAYS = "is in an object store"
_MARK = "_moxing_hints"
_TENSORFLOW = re.compile(r"File system scheme '\w+' not implemented \(file: '((?:s3|obs)://[^']*)'")


def hint(error: BaseException) -> str | None:
    """Returns a sentence to print below `error`, or None if the error does not concern URLs.

    For launchers: `open('s3://bucket/a')` only says "No such file or directory", and TensorFlow
    only says that it has no such file system.
    """
    if found := _TENSORFLOW.search(str(error)):
        return (
            f"{found[1]} {_SAYS}, which TensorFlow's own functions can't read: use mox.file, or "
            "copy it here first with mox.file.copy_parallel"
        )
    if not isinstance(error, OSError) or isinstance(error, MoxFileError):
        return None
    for name in (error.filename, error.filename2):
        if is_remote(name):
            return (
                f"{name} {_SAYS}, which Python's own functions can't read: use "
                "mox.file (such as mox.file.File instead of open), or call "
                "mox.file.shift('os', 'mox') first"
            )
    return None


def install() -> None:
    """Adds the hint to errors that end the program, before they are shown.

    Changes nothing under IPython, which shows errors itself.
    """
    shows = sys.excepthook
    if hasattr(builtins, "__IPYTHON__") or getattr(shows, _MARK, False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):  # A program's own error may behave arbitrarily.
            sentence = hint(error)
            if sentence and not any(_SAYS in note for note in getattr(error, "__notes__", ())):
                error.add_note(f"{sentence}.")
        shows(kind, error, trace)

    setattr(hook, _MARK, True)
    sys.excepthook = hook
