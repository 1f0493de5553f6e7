"""Binary files that accept text, as those of Python 2 do.

Python 2 programs write text into files opened with `'wb'`, and into temporary files, which are
binary. A file that a program has written text into, and nothing else, gives text when it is read.
"""

from __future__ import annotations

import io
from typing import Any

_ESCAPE = "surrogateescape"


def accepting(file: Any, at_once: bool = False) -> Any:
    """Returns a binary file that accepts text, in place of a file that was opened just now.

    Args:
        file: the file; readers are returned as they are.
        at_once: whether each write reaches the operating system before the next one.
    """
    if isinstance(file, io.FileIO):
        return (_Both if file.readable() else _Writer)(file, at_once) if file.writable() else file
    for kind, own in ((io.BufferedRandom, _Both), (io.BufferedWriter, _Writer)):
        if type(file) is kind:
            return own(file.detach(), at_once)
    return file


class _Writer(io.BufferedWriter):
    """A file that is only written."""

    def __init__(self, raw: Any, at_once: bool = False) -> None:
        """Args: raw: the file without a buffer. at_once: see `accepting`."""
        super().__init__(raw)
        self._at_once = at_once

    def write(self, buffer: Any, /) -> int:
        """Writes bytes, or text as UTF-8."""
        written = super().write(_bytes(buffer))
        if self._at_once:
            self.flush()
        return written


class _Both(io.BufferedRandom):
    """A file that is written and read."""

    def __init__(self, raw: Any, at_once: bool = False) -> None:
        """Args: raw: the file without a buffer. at_once: see `accepting`."""
        super().__init__(raw)
        self._at_once = at_once
        self._text: bool | None = None  # None until the first write.

    def write(self, buffer: Any, /) -> int:
        """Writes bytes, or text as UTF-8."""
        self._text = self._text is not False and isinstance(buffer, str)
        written = super().write(_bytes(buffer))
        if self._at_once:
            self.flush()
        return written

    def _shown(self, data: bytes) -> Any:
        return data.decode("utf-8", _ESCAPE) if self._text else data

    def read(self, size: int | None = -1, /) -> Any:
        """Reads text if the program has written text and nothing else."""
        return self._shown(super().read(size))

    def readline(self, size: int | None = -1, /) -> Any:
        """See `read`."""
        return self._shown(super().readline(size))

    def readlines(self, hint: int | None = -1, /) -> list[Any]:
        """See `read`."""
        return list(self) if hint in (-1, 0, None) else super().readlines(hint)

    def __next__(self) -> Any:
        """See `read`."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line


def _bytes(data: Any) -> Any:
    return data.encode("utf-8", _ESCAPE) if isinstance(data, str) else data
