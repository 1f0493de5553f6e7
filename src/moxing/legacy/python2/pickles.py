"""`pickle` as Python 2 programs use it: its texts are bytes, and files may be opened as text."""

from __future__ import annotations

import io
import pickle
from typing import Any

globals().update({name: getattr(pickle, name) for name in pickle.__all__})

# Python 2 wrote protocol 0 where it was not told another.
_PROTOCOL = 0
_ENCODING = "latin1"


def _binary(file: Any) -> Any:
    return file.buffer if isinstance(file, io.TextIOWrapper) else file


def load(file: Any) -> Any:
    """Reads one object; what Python 2 wrote as a `str` is text of one character a byte."""
    return pickle.load(_binary(file), encoding=_ENCODING)


def loads(data: Any) -> Any:
    """The object in `data`, bytes or the text that `open(path).read()` made of them."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return pickle.loads(data, encoding=_ENCODING)


def dump(obj: Any, file: Any, protocol: int | None = _PROTOCOL) -> None:
    """Writes `obj`, by default in the protocol 0 that Python 2 reads too."""
    pickle.dump(obj, _binary(file), protocol)


def dumps(obj: Any, protocol: int | None = _PROTOCOL) -> bytes:
    """`obj` as bytes, by default in the protocol 0 that Python 2 reads too."""
    return pickle.dumps(obj, protocol)


def Unpickler(file: Any) -> pickle.Unpickler:
    """A reader of several objects of one file."""
    return pickle.Unpickler(_binary(file), encoding=_ENCODING)


def Pickler(file: Any, protocol: int | None = _PROTOCOL) -> pickle.Pickler:
    """A writer of several objects to one file."""
    return pickle.Pickler(_binary(file), protocol)
