"""NumPy's functions with the arguments and the behavior of 2018."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from moxing.errors import MoxValueError
from moxing.framework import plain_pickles
from moxing.legacy.libraries.old_calls import wrapped
from moxing.legacy.python2 import port

_RAGGED = "inhomogeneous"
_KINDS = "biufcmMSUVO"


def array(object: Any, dtype: Any = None, copy: bool | None = True, **options: Any) -> np.ndarray:
    """`numpy.array`; `copy=False` copies if needed, and ragged lists become arrays of objects.

    Integers out of the range of `dtype` are taken modulo that.
    """
    # In NumPy 2, False makes a copy an error.
    return _made(np.array, object, dtype, {"copy": copy or None, **options})


def asarray(a: Any, dtype: Any = None, order: Any = None) -> np.ndarray:
    """`numpy.asarray`, also of ragged lists."""
    return _made(np.asarray, a, dtype, {"order": order})


def asanyarray(a: Any, dtype: Any = None, order: Any = None) -> np.ndarray:
    """`numpy.asanyarray`, also of ragged lists."""
    return _made(np.asanyarray, a, dtype, {"order": order})


def _made(function: Callable[..., Any], value: Any, dtype: Any, options: dict[str, Any]) -> Any:
    try:
        return function(value, dtype, **options)
    except ValueError as error:
        if dtype is None and _RAGGED in str(error):
            return function(value, object, **options)
        raise
    except OverflowError:
        if dtype is None or np.dtype(dtype).kind not in "iu":
            raise
        return wrapped(value, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> np.ndarray:
    """`numpy.full`; integers out of the range of `dtype` are taken modulo that."""
    try:
        return np.full(shape, fill_value, dtype, order)  # type: ignore[arg-type]
    except OverflowError:
        return np.full(shape, wrapped(fill_value, dtype), dtype, order)  # type: ignore[arg-type]


def full_like(a: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> np.ndarray:
    """`numpy.full_like`; integers out of the range of the type are taken modulo that."""
    try:
        return np.full_like(a, fill_value, dtype, *args, **kwargs)
    except OverflowError:
        kind = np.asanyarray(a).dtype if dtype is None else dtype
        return np.full_like(a, wrapped(fill_value, kind), dtype, *args, **kwargs)


def fromstring(string: Any, dtype: Any = float, count: int = -1, sep: str = "") -> np.ndarray:
    """Returns the bytes in `string` as numbers; with `sep`, the numbers that are written in a text.

    Raises:
        ValueError: the number of bytes is no multiple of an element's.
    """
    if sep:
        return np.fromstring(string, dtype, count, sep=sep)
    if isinstance(string, str):
        string = string.encode("utf-8", "surrogateescape")
    kind = np.dtype(dtype)
    if count < 0 and len(string) % kind.itemsize:
        raise ValueError("string size must be a multiple of element size")
    return np.frombuffer(string, kind, count).copy()


def reshape(a: Any, newshape: Any = None, order: Any = "C", **named: Any) -> np.ndarray:
    """`numpy.reshape`, whose argument `shape` was named `newshape`."""
    return np.reshape(a, named.pop("shape", newshape), order=order, **named)


def unravel_index(indices: Any, shape: Any = None, order: Any = "C", dims: Any = None) -> Any:
    """`numpy.unravel_index`, whose argument `shape` was named `dims`."""
    return np.unravel_index(indices, dims if shape is None else shape, order=order)


def rank(a: Any) -> int:
    """Returns the number of dimensions of an array."""
    return np.ndim(a)


def linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
    """`numpy.linspace`, whose `num` may be a float."""
    return np.linspace(start, stop, int(num), *args, **kwargs)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    normed: bool | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> Any:
    """`numpy.histogram`, with `normed` as another name of `density`.

    Raises:
        ValueError: `normed` with bins of different widths, for which NumPy's results were wrong.
    """
    counts, edges = np.histogram(a, bins, range, density=density or normed, weights=weights)
    if normed and not density and not np.allclose(np.diff(edges), edges[1] - edges[0]):
        raise ValueError(
            "numpy.histogram(normed=True) was wrong for bins of unlike widths. Use density=True."
        )
    return counts, edges


def loadtxt(fname: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.loadtxt`, whose converters got bytes until NumPy 2.3."""
    return _read_text(np.loadtxt, fname, args, kwargs)


def genfromtxt(fname: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.genfromtxt`, which gave bytes to converters and for `dtype=None` until NumPy 2.3."""
    return _read_text(np.genfromtxt, fname, args, kwargs)


def _read_text(function: Callable[..., Any], name: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    # Programs of Python 2 compare with texts, which were bytes.
    if not port.main_is_python2():
        kwargs.setdefault("encoding", "bytes")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Reading unicode strings without specifying")
        return function(name, *args, **kwargs)


def _of_sequence(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def stack(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        listed = arrays if isinstance(arrays, np.ndarray | Sequence) else list(arrays)
        return function(listed, *args, **kwargs)

    stack.__name__, stack.__doc__ = name, f"`numpy.{name}`, of what `map` and generators give too."
    return stack


vstack, hstack, dstack, stack, column_stack = map(
    _of_sequence, ("vstack", "hstack", "dstack", "stack", "column_stack")
)


def find_common_type(array_types: Iterable[Any], scalar_types: Iterable[Any]) -> Any:
    """Returns the arrays' common type, or the scalars' if that is of a higher kind."""
    arrays, scalars = [np.dtype(t) for t in array_types], [np.dtype(t) for t in scalar_types]
    if not arrays or not scalars:
        return np.result_type(*arrays, *scalars) if arrays or scalars else None
    of_arrays, of_scalars = np.result_type(*arrays), np.result_type(*scalars)
    higher = _KINDS.index(of_scalars.kind) > _KINDS.index(of_arrays.kind)
    return np.promote_types(of_arrays, of_scalars) if higher else of_arrays


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
) -> Any:
    """`numpy.load`; Python objects are read unasked if they are plain data, as all once were.

    Raises:
        MoxValueError: the file holds other objects, and `allow_pickle` is not given.
    """
    start = file.tell() if hasattr(file, "tell") else 0
    options = {"fix_imports": fix_imports, "encoding": encoding}
    try:
        found = np.load(file, mmap_mode, allow_pickle=allow_pickle, **options)
    except ValueError as error:
        if allow_pickle or "allow_pickle" not in str(error):
            raise
        with contextlib.ExitStack() as stack:
            stream = file
            if isinstance(file, str | os.PathLike):
                stream = stack.enter_context(open(file, "rb"))
            stream.seek(start)
            return _plain_objects(stream, file, encoding)
    if isinstance(found, np.lib.npyio.NpzFile) and not allow_pickle:
        found.__class__ = _Npz
    return found


class _Npz(np.lib.npyio.NpzFile):
    """Several arrays of one file, of which those of objects are read if they are plain data."""

    def __getitem__(self, key: str) -> Any:
        try:
            return super().__getitem__(key)
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
        archive: Any = self.zip
        options: Any = self.pickle_kwargs
        with archive.open(key if key in archive.namelist() else f"{key}.npy") as stream:
            place = f"{archive.filename or 'the file'}, {key}"
            return _plain_objects(stream, place, options["encoding"])


def _plain_objects(stream: Any, file: Any, encoding: str) -> Any:
    """Reads an `.npy` file with objects, or a pickle, from where the stream stands."""
    start = stream.tell()
    shape: tuple[int, ...] | None = None
    if stream.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
        stream.seek(start)
        version = np.lib.format.read_magic(stream)
        first = version == (1, 0)
        header = (
            np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        )
        shape = header(stream)[0]
    else:
        stream.seek(start)
    try:
        found = plain_pickles.load(stream, encoding)
    except MoxValueError as error:
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else getattr(file, "name", "")
        raise MoxValueError(
            f"numpy.load({name or file!r}): the file holds Python objects that are not plain data,"
            " and reading these can run any code that is in it."
            f" {error} NumPy read them unasked until 1.16.3. If you trust the file, say so:"
            " numpy.load(..., allow_pickle=True)."
        ) from error
    return found if shape is None else found.reshape(shape)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """`issubclass` that returns False for objects that are not classes."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)
