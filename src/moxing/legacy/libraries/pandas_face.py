"""pandas' names that programs of 2018 use and that pandas no longer has."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxTypeError
from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

_GONE = {
    "Panel": "Use a dictionary of DataFrames, an index of several levels, or a NumPy array.",
}
# Functions of a moving window, which became methods of `Series.rolling`, `expanding` and `ewm`.
_ROLLING = ("count", "kurt", "max", "mean", "median", "min", "skew", "std", "sum", "var")
_LONGEST_NAME = 4096
_WEIGHTED = {"ewma": "mean", "ewmstd": "std", "ewmvar": "var"}


def spec() -> Spec:
    """pandas with its old names and methods; everything else is pandas' own."""
    return Spec(
        roots=("pandas",),
        names={
            "datetime": "datetime:datetime",
            "np": "numpy",
            "scatter_matrix": "pandas.plotting:scatter_matrix",
            "Float64Index": "pandas:Index",
            "Int64Index": "pandas:Index",
            "tools": Spec(names={"plotting": "pandas.plotting"}),
            "read_html": lambda: _reading_text("read_html", "<"),
            "read_json": lambda: _reading_text("read_json", "[{"),
            "value_counts": lambda: _value_counts,
            **{f"rolling_{name}": functools.partial(_moving, name) for name in _ROLLING},
            **{f"expanding_{name}": functools.partial(_expanding, name) for name in _ROLLING},
            **{name: functools.partial(_weighted, now) for name, now in _WEIGHTED.items()},
        },
        gone=_GONE,
        arrive=_arrive,
        library=True,
    )


def _replace_as_before(texts: type) -> None:
    """Lets `Series.str.replace(pattern, ...)` of the program take regular expressions.

    These were the default until pandas 2.0, but for patterns of one character.
    """
    replace = texts.__dict__["replace"]
    if hasattr(replace, "mox_before"):
        return

    @functools.wraps(replace)
    def old(self: Any, pat: Any, *args: Any, **kwargs: Any) -> Any:
        is_given = "regex" in kwargs or len(args) > 4
        if not is_given and users_only.is_users(sys._getframe(1)):
            kwargs["regex"] = not isinstance(pat, str) or len(pat) > 1
        return replace(self, pat, *args, **kwargs)

    old.mox_before = replace  # type: ignore[attr-defined]
    texts.replace = old  # type: ignore[attr-defined]


def _reading_text(name: str, first: str) -> Callable[..., Any]:
    """Returns `pandas.read_json` or `read_html`, which also take the content itself.

    They did until pandas 3. A text whose first letter is in `first` is content, if there is no file
    of this name.
    """
    import pandas

    read = getattr(pandas, name)

    @functools.wraps(read)
    def function(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], str | bytes):
            text = args[0].decode() if isinstance(args[0], bytes) else args[0]
            is_content = text.lstrip()[:1] and text.lstrip()[0] in first
            # A name of a file is never this long, and a longer one can't be looked for.
            if is_content and (len(text) > _LONGEST_NAME or not os.path.exists(text)):
                args = (io.StringIO(text), *args[1:])
        return read(*args, **kwargs)

    return function


def _value_counts(values: Any, *args: Any, **kwargs: Any) -> Any:
    import pandas

    return pandas.Series(values).value_counts(*args, **kwargs)


def _as_given(values: Any) -> tuple[Any, bool]:
    """Returns values as a Series or DataFrame, and whether they were an array."""
    import pandas

    if isinstance(values, pandas.DataFrame | pandas.Series):
        return values, False
    return (pandas.DataFrame if len(getattr(values, "shape", ())) == 2 else pandas.Series)(
        values
    ), True


def _like_given(result: Any, was_array: bool) -> Any:
    return result.to_numpy() if was_array else result


def _moving(method: str) -> Callable[..., Any]:
    """Returns `pandas.rolling_METHOD`, which pandas had until 0.22."""

    def function(
        arg: Any,
        window: Any,
        min_periods: int | None = None,
        freq: Any = None,
        center: bool = False,
        **options: Any,
    ) -> Any:
        _without_freq(f"rolling_{method}", freq)
        data, was_array = _as_given(arg)
        # The count had no least number of values.
        least = 0 if method == "count" and min_periods is None else min_periods
        rolling = data.rolling(window, min_periods=least, center=center)
        return _like_given(getattr(rolling, method)(**options), was_array)

    function.__name__ = f"rolling_{method}"
    return function


def _expanding(method: str) -> Callable[..., Any]:
    """Returns `pandas.expanding_METHOD`, which pandas had until 0.22."""

    def function(arg: Any, min_periods: int = 1, freq: Any = None, **options: Any) -> Any:
        _without_freq(f"expanding_{method}", freq)
        data, was_array = _as_given(arg)
        least = 0 if method == "count" else min_periods
        return _like_given(getattr(data.expanding(min_periods=least), method)(**options), was_array)

    function.__name__ = f"expanding_{method}"
    return function


def _weighted(method: str) -> Callable[..., Any]:
    """Returns `pandas.ewma` or one of its kin, which pandas had until 0.22."""

    def function(
        arg: Any,
        com: float | None = None,
        span: float | None = None,
        halflife: float | None = None,
        alpha: float | None = None,
        **options: Any,
    ) -> Any:
        bias = {"bias": options.pop("bias")} if "bias" in options and method != "mean" else {}
        _without_freq("ewma", options.pop("freq", None))
        data, was_array = _as_given(arg)
        weights = data.ewm(com=com, span=span, halflife=halflife, alpha=alpha, **options)
        return _like_given(getattr(weights, method)(**bias), was_array)

    return function


def _without_freq(function: str, freq: Any) -> None:
    """Raises where a series was to be sampled anew before the window moves."""
    if freq is not None:
        raise MoxTypeError(
            f"pandas.{function}(freq={freq!r}) is gone: call .resample({freq!r}).mean() before"
            f" {function}."
        )


def _arrive() -> None:
    import pandas

    _replace_as_before(type(pandas.Series(["a"]).str))
    for owner in (pandas.DataFrame, pandas.Series):
        users_only.add(owner, "as_matrix", _as_matrix)
        users_only.add(owner, "get_value", _get_value)
        users_only.add(owner, "get_values", lambda data: data.to_numpy(copy=True))
        users_only.add(owner, "iteritems", lambda data: data.items())
        users_only.add(owner, "ix", _Ix, "property")
        users_only.add(owner, "set_value", _set_value)
    users_only.add(pandas.DataFrame, "append", _append_frame)
    users_only.add(pandas.DataFrame, "applymap", lambda data, func: data.map(func))
    users_only.add(pandas.DataFrame, "sort", _sort_frame)
    users_only.add(pandas.DataFrame, "icol", lambda data, i: data.iloc[:, i])
    users_only.add(pandas.DataFrame, "irow", lambda data, i: data.iloc[i])
    users_only.add(pandas.Series, "append", _append_series)
    users_only.add(pandas.Series, "nonzero", lambda data: data.to_numpy().nonzero())
    users_only.add(pandas.Series, "order", _order)
    users_only.add(pandas.Series, "ravel", lambda data, order="C": data.to_numpy().ravel(order))


def _as_matrix(data: Any, columns: Any = None) -> Any:
    """Returns the values of the given columns as a new array."""
    return (data if columns is None else data[columns]).to_numpy(copy=True)


def _get_value(data: Any, *place: Any, takeable: bool = False) -> Any:
    return (data.iat if takeable else data.at)[_place(place)]


def _set_value(data: Any, *place: Any, takeable: bool = False) -> Any:
    (data.iat if takeable else data.at)[_place(place[:-1])] = place[-1]
    return data


def _place(labels: tuple[Any, ...]) -> Any:
    return labels[0] if len(labels) == 1 else labels


def _append_frame(
    data: Any,
    other: Any,
    ignore_index: bool = False,
    verify_integrity: bool = False,
    sort: bool = False,
) -> Any:
    """Appends the rows of `other`: a frame, a row, or a list of frames or rows.

    Raises:
        TypeError: a row has no name, and `ignore_index` is not set.
    """
    import pandas

    if isinstance(other, pandas.Series | dict):
        row = pandas.Series(other, dtype=None if len(other) else object)
        if not ignore_index and (isinstance(other, dict) or row.name is None):
            raise MoxTypeError(
                "DataFrame.append: can only append a dict or a Series without a name with"
                " ignore_index=True."
            )
        rows = [row.to_frame().T.infer_objects()]
    elif isinstance(other, list) and other and isinstance(other[0], pandas.Series | dict):
        rows = [pandas.DataFrame(other)]
    else:
        rows = other if isinstance(other, list) else [other]
    return pandas.concat(
        [data, *rows], ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort
    )


def _append_series(
    data: Any, to_append: Any, ignore_index: bool = False, verify_integrity: bool = False
) -> Any:
    import pandas

    more = to_append if isinstance(to_append, list | tuple) else [to_append]
    return pandas.concat(
        [data, *more], ignore_index=ignore_index, verify_integrity=verify_integrity
    )


def _sort_frame(
    data: Any, columns: Any = None, axis: int = 0, ascending: bool = True, inplace: bool = False
) -> Any:
    # pandas warns about this argument.
    options = {"axis": axis, "ascending": ascending, **({"inplace": True} if inplace else {})}
    return data.sort_index(**options) if columns is None else data.sort_values(columns, **options)


def _order(data: Any, ascending: bool = True, na_position: str = "last") -> Any:
    return data.sort_values(ascending=ascending, na_position=na_position)


class _Ix:
    """`data.ix[...]`: by label, or by position if the labels are not integers."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, key: Any) -> Any:
        return self._data.loc[self._labels(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data.loc[self._labels(key)] = value

    def _labels(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _labels(key, self._data.axes[0])
        return tuple(_labels(part, axis) for part, axis in zip(key, self._data.axes, strict=False))


def _labels(part: Any, axis: Any) -> Any:
    """Converts a part of a key for `loc`; on an axis with integer labels, integers are labels."""
    import numpy as np
    from pandas.api.types import is_integer_dtype

    if is_integer_dtype(axis.dtype):
        return part
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return axis[part]
    if isinstance(part, slice) and all(
        end is None or isinstance(end, int | np.integer) for end in (part.start, part.stop)
    ):
        return axis[part]
    if isinstance(part, list | np.ndarray) and len(part):
        numbers = [
            isinstance(item, int | np.integer) and not isinstance(item, bool) for item in part
        ]
        if all(numbers):
            return axis[np.asarray(part)]
    return part
