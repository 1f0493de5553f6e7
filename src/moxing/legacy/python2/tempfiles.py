"""`tempfile` as Python 2 programs use it: files are binary, and accept text."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from moxing.legacy.python2 import binaries

globals().update({name: getattr(tempfile, name) for name in tempfile.__all__})


def TemporaryFile(
    mode: str = "w+b",
    bufsize: int = -1,
    suffix: str = "",
    prefix: str | None = None,
    dir: str | None = None,
) -> Any:
    """A file without a name, which is gone when it is closed."""
    file = tempfile.TemporaryFile(  # noqa: SIM115
        mode, _buffering(bufsize), suffix=suffix, prefix=prefix, dir=dir
    )
    return binaries.accepting(file, bufsize == 0)


def NamedTemporaryFile(
    mode: str = "w+b",
    bufsize: int = -1,
    suffix: str = "",
    prefix: str | None = None,
    dir: str | None = None,
    delete: bool = True,
) -> Any:
    """A file with a name, which is removed when it is closed if `delete` is true."""
    made = tempfile.NamedTemporaryFile(  # noqa: SIM115
        mode, _buffering(bufsize), suffix=suffix, prefix=prefix, dir=dir, delete=delete
    )
    if "b" in mode:
        # The file that it has closes the descriptor and removes the name; this one writes before.
        again = os.fdopen(made.fileno(), "r+b", closefd=False)
        made.file = binaries.accepting(again, at_once=True)
    return made


def _buffering(bufsize: int) -> int:
    return -1 if bufsize in (0, 1) else bufsize
