"""SciPy's names that programs of 2018 use and that SciPy no longer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

_IMAGES = "moxing.legacy.libraries.scipy_images"
_SPLINES = "moxing.legacy.libraries.scipy_splines"
_OWN = "moxing.legacy.libraries.scipy_face"
_IMAGE_NAMES = (
    *("bytescale", "fromimage", "imfilter", "imread", "imresize", "imrotate", "imsave", "imshow"),
    "toimage",
)
_SPECIAL = ("comb", "factorial", "factorial2", "factorialk", "logsumexp")
_PICTURES = "scipy.datasets.{} downloads that picture; it needs the package pooch."
_WAVELETS = "PyWavelets has wavelets: pip install PyWavelets; pywt.cwt."
_COMPLEX = ("arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt")

_MISC = Spec(
    names={
        **{name: f"{_IMAGES}:{name}" for name in _IMAGE_NAMES},
        **{name: f"scipy.special:{name}" for name in _SPECIAL},
        "central_diff_weights": f"{_OWN}:central_diff_weights",
        "derivative": f"{_OWN}:derivative",
        "info": f"{_OWN}:info",
        "pade": "scipy.interpolate:pade",
        "pilutil": "face:scipy.misc",
    },
    gone={
        "ascent": _PICTURES.format("ascent"),
        "electrocardiogram": _PICTURES.format("electrocardiogram").replace("picture", "record"),
        "face": _PICTURES.format("face"),
        "lena": "SciPy removed it in 2015, as it isn't free; use a picture of your own.",
    },
    otherwise=" openmox has SciPy 1.0's functions of images under scipy.misc.",
)


def spec() -> Spec:
    """SciPy with its old names; everything else is SciPy's own."""
    return Spec(
        roots=("scipy",),
        names={
            **{name: f"numpy:emath.{name}" for name in _COMPLEX},
            "integrate": Spec(
                roots=("scipy.integrate",),
                names={
                    "cumtrapz": "scipy.integrate:cumulative_trapezoid",
                    "trapz": "scipy.integrate:trapezoid",
                },
                gone={
                    "simps": "Use scipy.integrate.simpson, which treats an even number of points"
                    " better: give x by name."
                },
                library=True,
            ),
            "interpolate": Spec(
                roots=("scipy.interpolate",),
                names={name: f"{_SPLINES}:{name}" for name in ("interp1d", "interp2d", "spline")},
                library=True,
            ),
            "linalg": Spec(
                roots=("scipy.linalg",),
                names={
                    "eigh": f"{_OWN}:eigh",
                    **{name: f"numpy:{name}" for name in ("kron", "tri", "tril", "triu")},
                },
                gone={"pinv2": "Use scipy.linalg.pinv, which drops singular values by atol, rtol."},
                library=True,
            ),
            "misc": _MISC,
            "ndimage": Spec(
                roots=("scipy.ndimage",), names={"imread": f"{_IMAGES}:imread"}, library=True
            ),
            "ifft": "scipy.fft:ifft",
            "randn": "numpy.random:randn",
            "rand": "numpy.random:rand",
            "signal": Spec(
                roots=("scipy.signal",),
                names={"hanning": "scipy.signal.windows:hann"},
                gone=dict.fromkeys(("cwt", "morlet", "morlet2", "ricker"), _WAVELETS),
                fallback=("scipy.signal.windows",),
                library=True,
            ),
            "sparse": Spec(
                roots=("scipy.sparse",),
                names={
                    "linalg": Spec(
                        roots=("scipy.sparse.linalg",),
                        names={
                            "eigen": _eigen,
                            "cg": lambda: _with_tol("cg"),
                            "bicg": lambda: _with_tol("bicg"),
                            "bicgstab": lambda: _with_tol("bicgstab"),
                            "gmres": lambda: _with_tol("gmres"),
                        },
                        library=True,
                    )
                },
                arrive=_dense,
                library=True,
            ),
            "stats": Spec(
                roots=("scipy.stats",),
                names={
                    "chisqprob": lambda: lambda chisq, df: _stats().chi2.sf(chisq, df),
                    "itemfreq": f"{_OWN}:itemfreq",
                    "mode": f"{_OWN}:mode",
                    **{name: f"numpy:{name}" for name in ("nanmean", "nanmedian")},
                },
                library=True,
            ),
        },
        # Until SciPy 1.4, `scipy` also had all functions of NumPy.
        fallback=("numpy",),
        library=True,
    )


_eigen = Spec(
    roots=("scipy.sparse.linalg",),
    names={"arpack": "scipy.sparse.linalg", "lobpcg": "scipy.sparse.linalg"},
)


def _dense() -> None:
    """Gives sparse matrices the short names of their methods that SciPy 1.14 removed."""
    from scipy import sparse

    for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for suffix in ("matrix", "array"):
            owner = getattr(sparse, f"{kind}_{suffix}")
            users_only.add(owner, "A", lambda matrix: matrix.toarray(), "property")
            users_only.add(owner, "H", lambda matrix: matrix.conj().T, "property")


def _with_tol(name: str) -> Callable[..., Any]:
    """Returns a solver whose relative tolerance was named `tol`."""
    from scipy.sparse import linalg

    solver = getattr(linalg, name)

    def solve(A: Any, b: Any, x0: Any = None, tol: float = 1e-5, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("rtol", tol)
        if args:
            kwargs["maxiter"] = args[0]
        return solver(A, b, x0, **kwargs)

    solve.__name__, solve.__doc__ = name, solver.__doc__
    return solve


def eigh(
    a: Any, b: Any = None, *args: Any, turbo: bool = True, eigvals: Any = None, **options: Any
) -> Any:
    """`scipy.linalg.eigh`, whose argument `subset_by_index` was named `eigvals`."""
    from scipy import linalg

    if eigvals is not None:
        options["subset_by_index"] = eigvals
    names = ("lower", "eigvals_only", "overwrite_a", "overwrite_b")
    return linalg.eigh(a, b, **dict(zip(names, args, strict=False)), **options)


def _stats() -> Any:
    from scipy import stats

    return stats


def mode(a: Any, axis: Any = 0, nan_policy: str = "propagate") -> Any:
    """`scipy.stats.mode`, whose results keep the dimension along which it counts."""
    return _stats().mode(a, axis=axis, nan_policy=nan_policy, keepdims=True)


def central_diff_weights(Np: int, ndiv: int = 1) -> Any:
    """Returns the weights of `Np` points, an odd number, for the derivative of order `ndiv`.

    Raises:
        ValueError: too few points, or an even number of points.
    """
    import numpy as np

    if Np < ndiv + 1:
        raise ValueError("Number of points must be at least the derivative order + 1.")
    if Np % 2 == 0:
        raise ValueError("The number of points must be odd.")
    powers = np.vander(np.arange(-(Np // 2), Np // 2 + 1.0), increasing=True)
    return np.prod(np.arange(1, ndiv + 1)) * np.linalg.inv(powers)[ndiv]


def derivative(
    func: Callable[..., Any],
    x0: float,
    dx: float = 1.0,
    n: int = 1,
    args: Sequence[Any] = (),
    order: int = 3,
) -> float:
    """Returns the `n`-th derivative of `func` at `x0`, by central differences of `order` points."""
    weights = central_diff_weights(order, n)
    half = order // 2
    values = (func(x0 + (k - half) * dx, *args) for k in range(order))
    total = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return total / dx**n


def itemfreq(a: Any) -> Any:
    """Returns the distinct items of an array and their counts, as rows of an array."""
    import numpy as np

    items, counts = np.unique(a, return_counts=True)
    return np.array([items, counts]).T


def info(object: Any = None) -> None:
    """Prints the documentation of an object of SciPy."""
    import inspect

    print(inspect.getdoc(object) or "")
