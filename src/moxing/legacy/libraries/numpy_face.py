"""NumPy's names that programs of 2018 use and that NumPy 2 no longer has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec

_ARRAYS = "moxing.legacy.libraries.arrays"
_BUILTINS = ("bool", "float", "int", "object", "str", "complex")
# Functions that lost arguments or behavior.
_AS_THEY_WERE = (
    *("array", "asarray", "cast", "column_stack", "dstack", "find_common_type", "fromstring"),
    *("full", "histogram", "hstack", "issubclass_", "linspace", "load", "rank", "reshape", "stack"),
    *("unravel_index", "vstack"),
)
# Old name -> the name NumPy itself gives as its successor.
_RENAMED = {
    "Inf": "inf",
    "Infinity": "inf",
    "NAN": "nan",
    "NaN": "nan",
    "PINF": "inf",
    "alltrue": "all",
    "asscalar": "ndarray.item",
    "bool8": "bool_",
    "cfloat": "complex128",
    "clongfloat": "clongdouble",
    "complex_": "complex128",
    "cumproduct": "cumprod",
    "float_": "float64",
    "infty": "inf",
    "int0": "intp",
    "longcomplex": "clongdouble",
    "longfloat": "longdouble",
    "mat": "asmatrix",
    "object0": "object_",
    "product": "prod",
    "round_": "round",
    "row_stack": "vstack",
    "singlecomplex": "complex64",
    "sometrue": "any",
    "str0": "str_",
    "string_": "bytes_",
    "trapz": "trapezoid",
    "uint0": "uintp",
    "unicode_": "str_",
    "ComplexWarning": "exceptions.ComplexWarning",
    "RankWarning": "exceptions.RankWarning",
    "VisibleDeprecationWarning": "exceptions.VisibleDeprecationWarning",
    "AxisError": "exceptions.AxisError",
}


def spec() -> Spec:
    """NumPy with its old names; everything else is NumPy's own."""
    names: dict[str, str | Spec | Callable[[], Any]] = {
        name: f"builtins:{name}" for name in _BUILTINS
    }
    names.update({name: f"{_ARRAYS}:{name}" for name in _AS_THEY_WERE})
    names.update(unicode="builtins:str", long="builtins:int")
    names.update({old: f"numpy:{new}" for old, new in _RENAMED.items()})
    names.update(
        NINF=lambda: -float("inf"),
        NZERO=lambda: -0.0,
        PZERO=lambda: 0.0,
        alen=lambda: len,
        asfarray=lambda: asfarray,
        in1d=lambda: in1d,
        core="numpy._core",
        lib=Spec(roots=("numpy.lib",), names={"pad": "numpy:pad"}),
        linalg=Spec(roots=("numpy.linalg",), names={"linalg": "numpy.linalg"}),
        math="math",
        msort=lambda: msort,
        safe_eval="ast:literal_eval",
        sctypes=lambda: arrays().sctypes(),
        testing=Spec(roots=("numpy.testing",), names={"utils": "numpy.testing"}),
        typeDict="numpy:sctypeDict",
        warnings="warnings",
        random=Spec(
            roots=("numpy.random",), names={"random_integers": lambda: random_integers}, deep=True
        ),
    )
    return Spec(roots=("numpy",), names=names, library=True)


def arrays() -> Any:
    """Returns the module of the replacing functions, which imports NumPy."""
    from moxing.legacy.libraries import arrays

    return arrays


def asfarray(a: Any, dtype: Any = None) -> Any:
    """Returns `a` as an array of `dtype` if that is a floating type, else of float64."""
    import numpy

    wanted = numpy.dtype(float if dtype is None else dtype)
    return numpy.asarray(a, wanted if numpy.issubdtype(wanted, numpy.inexact) else float)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """`numpy.isin` of the flattened first array."""
    import numpy

    return numpy.isin(numpy.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def msort(a: Any) -> Any:
    """Returns a copy of `a`, sorted along its first axis."""
    import numpy

    return numpy.sort(a, axis=0)


def random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    """Draws integers uniformly from [low, high], or from [1, low] without `high`, ends included."""
    import numpy

    first, last = (1, low) if high is None else (low, high)
    return numpy.random.randint(first, last + 1, size)
