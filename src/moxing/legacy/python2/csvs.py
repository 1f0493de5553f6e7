"""`csv` as Python 2 programs use it: files are opened in binary mode."""

from __future__ import annotations

import csv
import io
from typing import Any

globals().update({name: getattr(csv, name) for name in csv.__all__})


def _text(file: Any) -> Any:
    """Returns a file or other source of lines as text; leaves text unchanged."""
    if isinstance(file, io.BufferedReader | io.BytesIO):
        return io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="", write_through=True)
    return file


def reader(csvfile: Any, dialect: Any = "excel", **fmtparams: Any) -> Any:
    """`csv.reader`, also of a file opened as `'rb'`."""
    return csv.reader(_text(csvfile), dialect, **fmtparams)


def writer(csvfile: Any, dialect: Any = "excel", **fmtparams: Any) -> Any:
    """`csv.writer`, also to a file opened as `'wb'`."""
    return csv.writer(_Open(csvfile), dialect, **fmtparams)


class _Open:
    """Writes text to a binary or text file, which its owner closes."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> int:
        if isinstance(self._file, io.BufferedIOBase):
            return self._file.write(text.encode("utf-8", "surrogateescape"))
        return self._file.write(text)


class DictReader(csv.DictReader):
    """`csv.DictReader`, also of a file opened as `'rb'`."""

    def __init__(self, f: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(_text(f), *args, **kwargs)


class DictWriter(csv.DictWriter):
    """`csv.DictWriter`, also to a file opened as `'wb'`."""

    def __init__(self, f: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(_Open(f), *args, **kwargs)
