"""Reads pickles of plain data: numbers, text, lists, dicts and NumPy's arrays of them.

A pickle names functions and classes to call, and may name any. This module accepts only those that
plain data needs, so that a file can't choose code to run. An error names any other.
"""

from __future__ import annotations

import collections
import pickle
from typing import IO, Any

import numpy as np
import numpy._core.multiarray as multiarray
import numpy._core.numeric as numeric

from moxing.errors import MoxValueError

_BUILTINS: dict[str, Any] = {
    **{kind.__name__: kind for kind in (bool, bytearray, bytes, complex, dict, float, frozenset)},
    **{kind.__name__: kind for kind in (int, list, set, slice, str, tuple)},
    # Python 2's names.
    **{"long": int, "unicode": str, "xrange": range, "range": range},
}


class _Array:
    """Stands for the class of arrays, so that a pickle can't call the class over any memory."""


def _reconstruct(kind: Any, shape: tuple[int, ...], code: bytes) -> Any:
    if kind is not _Array:
        raise MoxValueError("The pickle holds a kind of array that is not plain data.")
    return multiarray._reconstruct(np.ndarray, shape, code)


def _scalar(dtype: Any, data: Any) -> Any:
    if np.dtype(dtype).hasobject:
        raise MoxValueError("The pickle holds a scalar of NumPy's that is an object.")
    return multiarray.scalar(dtype, data)


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Old protocols hold bytes as text."""
    if encoding not in ("latin1", "latin-1"):
        raise MoxValueError(f"The pickle holds bytes as text of the encoding {encoding!r}.")
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    **{
        (module, name): kind
        for module in ("builtins", "__builtin__")
        for name, kind in _BUILTINS.items()
    },
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): _Array,
}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_core}.multiarray", "_reconstruct"] = _reconstruct
    _ALLOWED[f"{_core}.multiarray", "scalar"] = _scalar
    _ALLOWED[f"{_core}.numeric", "_frombuffer"] = numeric._frombuffer


class _Unpickler(pickle._Unpickler):
    """Python's unpickler in Python, whose steps can be checked."""

    dispatch: Any = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise MoxValueError(f"The pickle names {module}.{name}.") from None

    def persistent_load(self, pid: Any) -> Any:
        raise MoxValueError("The pickle names an object outside of it.")

    def load_build(self) -> None:
        """Sets an object's state: the places of a record's fields could lie outside its memory."""
        state, target = self.stack[-1], self.stack[-2]  # type: ignore[attr-defined]
        records = isinstance(target, np.dtype) and any(part is not None for part in state[2:5])
        if records or not isinstance(target, np.dtype | np.ndarray):
            raise MoxValueError(f"The pickle holds the state of a {type(target).__name__}.")
        _BUILD(self)

    dispatch[pickle.BUILD[0]] = load_build


_BUILD: Any = pickle._Unpickler.dispatch[pickle.BUILD[0]]


def load(file: IO[bytes], encoding: str = "ASCII") -> Any:
    """Reads one pickle of plain data.

    Args:
        file: an open file, at the start of the pickle.
        encoding: the encoding of Python 2's `str`; `"bytes"` leaves them bytes.

    Raises:
        MoxValueError: the pickle names an object that plain data does not need; the message has its
            name.
        Exception: whatever `pickle.load` raises for a damaged file.
    """
    return _Unpickler(file, encoding=encoding).load()
