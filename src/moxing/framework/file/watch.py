"""Warns when Python's own functions get the URL of an object store.

`open("s3://bucket/x", "w")` silently writes to a local folder named `s3:`, `os.walk` finds nothing,
and `os.path.exists` returns False. The first such call logs a warning at once, and another one at
the end of the program.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import re
import sys
import types
from collections.abc import Callable
from typing import Any

# pathlib folds the two slashes of a URL into one.
_URL = re.compile(r"(s3|obs):/", re.IGNORECASE)
_SILENT = frozenset(("open", "os.mkdir", "os.scandir", "glob.glob", "glob.glob/2"))
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_ASKED = ("exists", "isfile", "isdir")
_MARK = "_moxing_watch"
_INSTEAD = (
    "Use mox.file (such as mox.file.File instead of open), or call mox.file.shift('os', 'mox')"
    " first"
)


class _Told:
    """The warnings of this process."""

    def __init__(self) -> None:
        self.first = ""
        self.calls = 0

    def tell(self, function: str, url: str) -> None:
        """Logs a warning at the first call, and counts all calls."""
        self.calls += 1
        if self.first:
            return
        if self.calls == 1:
            atexit.register(self.repeat)
        where = _user_line(sys._getframe(2))
        self.first = f"{function}({url!r}){where}"
        logging.getLogger().warning(
            "%s takes the URL for a path on this machine. %s.", self.first, _INSTEAD
        )

    def repeat(self) -> None:
        """Logs the warning at the end of the program."""
        local = [name for name in ("s3:", "obs:") if os.path.isdir(name)]
        lies = (
            f" The files that were written are in {' and '.join(local)} in {os.getcwd()}."
            if local
            else ""
        )
        logging.getLogger().warning(
            "%d call(s) took URLs of an object store for paths on this machine, the first was"
            " %s.%s %s.",
            *(self.calls, self.first, lies, _INSTEAD),
        )


def install() -> None:
    """Starts to watch for such calls; repeated calls have no further effect."""
    if hasattr(os.path.exists, _MARK):
        return
    told = _Told()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in _SILENT or not args:
            return
        path = args[0]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not _URL.match(path):
            return
        if event == "open" and not _to_write(args):
            return
        told.tell(event.partition("/")[0], path)

    for name in _ASKED:
        setattr(os.path, name, _asking(getattr(os.path, name), told))
    sys.addaudithook(hook)


def _asking(original: Callable[..., bool], told: _Told) -> Callable[..., bool]:
    @functools.wraps(original)
    def asked(path: Any) -> bool:
        if isinstance(path, str | os.PathLike) and _URL.match(os.fsdecode(path)):
            told.tell(f"os.path.{original.__name__}", str(path))
        return original(path)

    # `pickle` looks a function up by this name, so it must lead to the replacement.
    asked.__module__ = os.path.__name__
    setattr(asked, _MARK, original)
    return asked


def _to_write(args: tuple[Any, ...]) -> bool:
    flags = args[2] if len(args) > 2 else 0
    return isinstance(flags, int) and bool(flags & _WRITES)


def _user_line(frame: types.FrameType | None) -> str:
    """Returns the file and line outside Python's own library that made the call."""
    library = os.path.dirname(os.__file__) + os.sep
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith(("<frozen", library)):
            return f" ({file}:{frame.f_lineno})"
        frame = frame.f_back
    return ""
