"""NumPy's names that programs of 2018 use and that NumPy 2 no longer has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec

_ARRAYS = "moxing.legacy.libraries.arrays"
_BUILTINS = ("bool", "float", "int", "object", "str", "complex")
_ARGUMENTS = "moxing.legacy.libraries.numpy_arguments"
_TYPES = "moxing.legacy.libraries.numpy_types"
# Functions that lost arguments or behavior, by the module that has them.
_AS_THEY_WERE = {
    _ARRAYS: (
        *("array", "asarray", "asanyarray", "column_stack", "dstack", "find_common_type"),
        *("fromstring", "full", "full_like", "genfromtxt", "histogram", "hstack", "issubclass_"),
        *("linspace", "load", "loadtxt", "rank", "reshape", "stack", "unravel_index", "vstack"),
    ),
    _ARGUMENTS: (
        *("array2string", "disp", "expand_dims", "histogram2d", "histogramdd", "logspace"),
        *("nanpercentile", "nanquantile", "nonzero", "percentile", "quantile", "recfromcsv"),
        *("recfromtxt", "save", "savez", "savez_compressed", "set_printoptions", "sum"),
        *("unique", "where"),
    ),
    _TYPES: (
        *("can_cast", "cast", "issctype", "issubsctype", "maximum_sctype", "nbytes"),
        *("obj2sctype", "sctype2char"),
    ),
}
# Modules under numpy.lib whose functions are NumPy's own.
_LIB = (
    *("arraypad", "arraysetops", "function_base", "histograms", "index_tricks", "nanfunctions"),
    *("npyio", "polynomial", "shape_base", "twodim_base", "type_check", "ufunclike", "utils"),
)
_NPYIO = {
    **{name: f"numpy.lib.npyio:{name}" for name in ("DataSource", "NpzFile")},
    **{name: f"{_ARRAYS}:{name}" for name in ("genfromtxt", "load", "loadtxt")},
    **{name: f"{_ARGUMENTS}:{name}" for name in ("recfromcsv", "recfromtxt", "save", "savez")},
    "savez_compressed": f"{_ARGUMENTS}:savez_compressed",
}
_FINANCIAL = "pip install numpy-financial has it: import numpy_financial."
_GONE = {
    name: _FINANCIAL
    for name in ("fv", "ipmt", "irr", "mirr", "nper", "npv", "pmt", "ppmt", "pv", "rate")
}
# Old name -> the name NumPy itself gives as its successor.
_RENAMED = {
    "Inf": "inf",
    "Infinity": "inf",
    "NAN": "nan",
    "NaN": "nan",
    "PINF": "inf",
    "alltrue": "all",
    "bool8": "bool_",
    "bytes0": "bytes_",
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
    "void0": "void",
    "byte_bounds": "lib.array_utils.byte_bounds",
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
    for module, shown in _AS_THEY_WERE.items():
        names.update({name: f"{module}:{name}" for name in shown})
    names.update(unicode="builtins:str", long="builtins:int")
    names.update({old: f"numpy:{new}" for old, new in _RENAMED.items()})
    names.update(
        NINF=lambda: -float("inf"),
        NZERO=lambda: -0.0,
        PZERO=lambda: 0.0,
        alen=lambda: len,
        asfarray=lambda: asfarray,
        asscalar=lambda: asscalar,
        get_numpy_include="numpy:get_include",
        in1d=lambda: in1d,
        compat=_compat,
        core="numpy._core",
        fft=Spec(roots=("numpy.fft",), names={"fftpack": "numpy.fft", "helper": "numpy.fft"}),
        lib=Spec(
            roots=("numpy.lib",),
            names={
                "pad": "numpy:pad",
                **dict.fromkeys(_LIB, "face:numpy"),
                "npyio": Spec(roots=("numpy",), names=_NPYIO),
            },
        ),
        linalg=Spec(
            roots=("numpy.linalg",),
            names={
                "linalg": "face:numpy.linalg",
                "lstsq": f"{_ARGUMENTS}:lstsq",
                "solve": f"{_ARGUMENTS}:solve",
            },
        ),
        loads="pickle:loads",
        math="math",
        msort=lambda: msort,
        safe_eval="ast:literal_eval",
        sctypes=lambda: types().sctypes(),
        testing=Spec(roots=("numpy.testing",), names={"utils": "numpy.testing"}),
        typeDict="numpy:sctypeDict",
        warnings="warnings",
        random=Spec(
            roots=("numpy.random",),
            names={
                "choice": f"{_ARGUMENTS}:choice",
                "permutation": f"{_ARGUMENTS}:permutation",
                "random_integers": lambda: random_integers,
            },
            deep=True,
        ),
    )
    return Spec(roots=("numpy",), names=names, gone=_GONE, arrive=_print_plainly, library=True)


_TEXTS = {
    "asbytes": lambda: lambda s: s if isinstance(s, bytes) else str(s).encode("latin1"),
    "asstr": lambda: lambda s: s.decode("latin1") if isinstance(s, bytes) else str(s),
    "asunicode": lambda: lambda s: s.decode("latin1") if isinstance(s, bytes) else str(s),
    "basestring": "builtins:str",
    "bytes": "builtins:bytes",
    "integer_types": lambda: (int, arrays().np.integer),
    "long": "builtins:int",
    "unicode": "builtins:str",
}
_compat = Spec(names={**_TEXTS, "py3k": Spec(names=_TEXTS)})


def _print_plainly() -> None:
    """Lets lists of NumPy's numbers print as numbers, not as `np.float32(0.5)`."""
    import numpy

    if int(numpy.__version__.partition(".")[0]) >= 2 and not numpy.get_printoptions()["legacy"]:
        numpy.set_printoptions(legacy="1.25")


def arrays() -> Any:
    """Returns the module of the replacing functions, which imports NumPy."""
    from moxing.legacy.libraries import arrays

    return arrays


def types() -> Any:
    """Returns the module about types, which imports NumPy."""
    from moxing.legacy.libraries import numpy_types

    return numpy_types


def asfarray(a: Any, dtype: Any = None) -> Any:
    """Returns `a` as an array of `dtype` if that is a floating type, else of float64."""
    import numpy

    wanted = numpy.dtype(float if dtype is None else dtype)
    return numpy.asarray(a, wanted if numpy.issubdtype(wanted, numpy.inexact) else float)


def asscalar(a: Any) -> Any:
    """Returns the only element of an array, or a number of NumPy, as a number of Python."""
    import numpy

    return numpy.asarray(a).item()


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
