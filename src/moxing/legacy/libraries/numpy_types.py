"""NumPy's functions about types that NumPy 2 no longer has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_KINDS = {"f": np.longdouble, "c": np.clongdouble, "i": np.int64, "u": np.uint64}


def sctypes() -> dict[str, list[type]]:
    """The scalar types, by kind."""
    return {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [bool, object, bytes, str, np.void],
    }


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Returns the scalar type of a type, a name of a type or an array; `default` of others."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, np.ndarray):
        return rep.dtype.type
    try:
        return np.dtype(rep).type
    except TypeError:
        return default


def sctype2char(sctype: Any) -> str:
    """Returns the character of a type, such as "f" of float32.

    Raises:
        ValueError: `sctype` is no type.
    """
    found = obj2sctype(sctype)
    if found is None:
        raise ValueError("unrecognized type")
    return np.dtype(found).char


def issctype(rep: Any) -> bool:
    """Whether an object stands for a scalar type."""
    if not isinstance(rep, type | np.dtype):
        return False
    found = obj2sctype(rep)
    return found is not None and found is not np.object_


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether the scalar type of the first object is a subclass of that of the second."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def maximum_sctype(t: Any) -> Any:
    """Returns the scalar type of the same kind that has the most bits."""
    found = obj2sctype(t)
    return t if found is None else _KINDS.get(np.dtype(found).kind, found)


class _Bytes(dict):
    """`numpy.nbytes[np.float32]` is the number of bytes of an element."""

    def __missing__(self, kind: Any) -> int:
        return np.dtype(kind).itemsize


class _Cast(dict):
    """`numpy.cast['float32'](x)` converts to an array of the type."""

    def __missing__(self, kind: Any) -> Callable[[Any], np.ndarray]:
        return lambda x: np.asarray(x).astype(kind)


nbytes: Mapping[Any, int] = _Bytes()
cast: Mapping[Any, Callable[[Any], np.ndarray]] = _Cast()


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """`numpy.can_cast`, also of numbers, which fit if their value does."""
    if isinstance(from_, np.generic) and from_.dtype.kind in "iufc":
        from_ = from_.item()
    if type(from_) is int and np.dtype(to).kind in "iu":
        limits = np.iinfo(to)
        return bool(limits.min <= from_ <= limits.max)
    if type(from_) in (int, float, complex):
        from_ = np.min_scalar_type(from_)
    return np.can_cast(from_, to, casting=casting)
