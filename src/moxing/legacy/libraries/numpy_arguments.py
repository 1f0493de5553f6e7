"""NumPy's functions that lost an argument, or got another default or another result since 2018."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

_Function = Callable[..., Any]


def _renamed(name: str, old: str, new: str) -> _Function:
    """Returns a function of NumPy that also takes an argument by its old name."""
    function = getattr(np, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        if old in kwargs:
            kwargs[new] = kwargs.pop(old)
        return function(*args, **kwargs)

    called.__name__, called.__doc__ = name, f"`numpy.{name}`, whose `{new}` was named `{old}`."
    return called


percentile, quantile, nanpercentile, nanquantile = (
    _renamed(name, "interpolation", "method")
    for name in ("percentile", "quantile", "nanpercentile", "nanquantile")
)
histogram2d, histogramdd = (
    _renamed(name, "normed", "density") for name in ("histogram2d", "histogramdd")
)


def _without(name: str, gone: str) -> _Function:
    """Returns a function of NumPy that ignores an argument that had no effect on the result."""
    function = getattr(np, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(gone, None)
        return function(*args, **kwargs)

    called.__name__, called.__doc__ = name, f"`numpy.{name}`, without its old argument `{gone}`."
    return called


array2string = _without("array2string", "style")


def _with_ragged(name: str) -> _Function:
    """Returns a function that writes ragged lists as arrays of objects."""
    function = getattr(np, name)

    def called(file: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("fix_imports", None)
        function(
            file,
            *(_ragged_to_array(value) for value in args),
            **{key: _ragged_to_array(value) for key, value in kwargs.items()},
        )

    called.__name__, called.__doc__ = name, f"`numpy.{name}`, also of ragged lists."
    return called


save, savez, savez_compressed = map(_with_ragged, ("save", "savez", "savez_compressed"))


def _ragged_to_array(value: Any) -> Any:
    from moxing.legacy.libraries import arrays

    return arrays.array(value) if isinstance(value, list | tuple) else value


def set_printoptions(
    precision: Any = None, threshold: Any = None, *args: Any, **kwargs: Any
) -> None:
    """`numpy.set_printoptions`; a threshold of nan prints all elements, as it did until 1.13."""
    if isinstance(threshold, str) or (threshold is not None and threshold != threshold):
        threshold = sys.maxsize
    np.set_printoptions(precision, threshold, *args, **kwargs)


def sum(a: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.sum`, also of generators, whose elements Python's `sum` adds."""
    return builtins.sum(a) if isinstance(a, Generator) else np.sum(a, *args, **kwargs)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, *args: Any, **kwargs: Any
) -> Any:
    """`numpy.unique`, whose inverse is flat if no axis is given, as before NumPy 2."""
    found = np.unique(ar, return_index, return_inverse, *args, **kwargs)
    if not return_inverse:
        return found
    place = 2 if return_index else 1
    return (*found[:place], found[place].reshape(-1), *found[place + 1 :])


def expand_dims(a: Any, axis: Any) -> Any:
    """`numpy.expand_dims`; an axis after the last one is the last, as before NumPy 1.18."""
    array = a if isinstance(a, np.matrix) else np.asanyarray(a)
    if isinstance(axis, tuple | list) or -array.ndim - 1 <= axis <= array.ndim:
        return np.expand_dims(a, axis)
    if axis < 0:
        axis += array.ndim + 1
    return array.reshape(array.shape[:axis] + (1,) + array.shape[axis:])


def nonzero(a: Any) -> tuple[np.ndarray, ...]:
    """`numpy.nonzero`, which takes a single number for an array with one element."""
    return np.nonzero(np.atleast_1d(a) if np.ndim(a) == 0 else a)


def where(condition: Any, *choices: Any) -> Any:
    """`numpy.where`, whose condition alone may be a single number."""
    return np.where(condition, *choices) if choices else nonzero(condition)


def lstsq(a: Any, b: Any, rcond: Any = "warn") -> Any:
    """`numpy.linalg.lstsq`, whose default of `rcond` was -1: the machine's precision."""
    return np.linalg.lstsq(a, b, rcond=-1 if isinstance(rcond, str) else rcond)


def solve(a: Any, b: Any) -> Any:
    """`numpy.linalg.solve`; a `b` with one dimension less than `a` holds vectors, not matrices."""
    a, b = np.asanyarray(a), np.asanyarray(b)
    if b.ndim == a.ndim - 1 and b.ndim > 1:
        return np.linalg.solve(a, b[..., np.newaxis])[..., 0]
    return np.linalg.solve(a, b)


def logspace(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
    """`numpy.logspace`, whose `num` may be a float."""
    return np.logspace(start, stop, int(num), *args, **kwargs)


def choice(a: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.random.choice`, also of ragged lists."""
    return np.random.choice(_ragged_to_array(a), *args, **kwargs)


def permutation(x: Any) -> Any:
    """`numpy.random.permutation`, also of ragged lists."""
    return np.random.permutation(_ragged_to_array(x))


def recfromtxt(fname: Any, **kwargs: Any) -> Any:
    """Reads a text file as an array of records."""
    kwargs.setdefault("dtype", None)
    read = np.genfromtxt(fname, **kwargs)
    return read.view(np.recarray)


def recfromcsv(fname: Any, **kwargs: Any) -> Any:
    """Reads a file with names in its first line and commas as an array of records."""
    defaults = {"case_sensitive": "lower", "names": True, "delimiter": ",", "dtype": None}
    return np.genfromtxt(fname, **{**defaults, **kwargs}).view(np.recarray)


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Writes a message to a file, default: standard output."""
    device = device or sys.stdout
    device.write(f"{mesg}\n" if linefeed else f"{mesg}")
    device.flush()
