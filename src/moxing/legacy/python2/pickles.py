"""`pickle` as Python 2 programs use it: pickles hold bytes, and files may be opened as text."""

from __future__ import annotations

import io
import pickle
from typing import Any

globals().update({name: getattr(pickle, name) for name in pickle.__all__})

# Python 2's default protocol was 0.
_PROTOCOL = 0
_ENCODING = "latin1"


def _binary(file: Any) -> Any:
    return file.buffer if isinstance(file, io.TextIOWrapper) else file


def load(file: Any) -> Any:
    """Reads one object; a `str` of Python 2 becomes text with one character for each byte."""
    return pickle.load(_binary(file), encoding=_ENCODING)


def loads(data: Any) -> Any:
    """Reads the object in `data`: bytes, or text that `open(path).read()` returned."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return pickle.loads(data, encoding=_ENCODING)


def dump(obj: Any, file: Any, protocol: int | None = _PROTOCOL) -> None:
    """Writes `obj`, by default in protocol 0, which Python 2 can read."""
    pickle.dump(obj, _binary(file), protocol)


def dumps(obj: Any, protocol: int | None = _PROTOCOL) -> bytes:
    """Returns `obj` as bytes, by default in protocol 0, which Python 2 can read."""
    return pickle.dumps(obj, protocol)


def Unpickler(file: Any) -> pickle.Unpickler:
    """Reads several objects from one file."""
    return pickle.Unpickler(_binary(file), encoding=_ENCODING)


def Pickler(file: Any, protocol: int | None = _PROTOCOL) -> pickle.Pickler:
    """Writes several objects to one file."""
    return pickle.Pickler(_binary(file), protocol)
