"""Defaults of float flags that programs use as sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class WholeFloat(float):
    """The value of a float flag whose default is an integer: a float that is a size, too.

    TensorFlow before 1.5 left such a default an integer, and programs count and slice with it.
    Results of integers and such values are such values again.
    """

    __slots__ = ()

    def __index__(self) -> int:
        return int(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """Calls the function of NumPy, which keeps float32 beside Python's own floats only."""
        plain = [float(one) if isinstance(one, WholeFloat) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **named)


def _counting(of_float: Callable[[float, Any], Any]) -> Callable[[WholeFloat, Any], Any]:
    """Returns an operator of floats as a method whose results of integers are sizes."""

    def method(self: WholeFloat, other: Any) -> Any:
        result = of_float(self, other)
        return WholeFloat(result) if isinstance(other, int | WholeFloat) else result

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(WholeFloat, _method, _counting(getattr(float, _method)))
