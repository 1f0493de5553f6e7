"""Reads environment variables, with errors that name the variable."""

from __future__ import annotations

import os

from moxing.errors import MoxValueError, shown

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def first(*names: str) -> str | None:
    """Returns the value of the first variable that is set and not empty, or None."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value:
            return value
    return None


def boolean(name: str, default: bool) -> bool:
    """Returns the variable as a bool; `default` if it is unset or empty.

    Raises:
      MoxValueError: the value is none of 1, 0, true, false, yes, no, on, off.
    """
    value = first(name)
    if value is None:
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise MoxValueError(f"environment variable {name}={shown(value)} must be 1 or 0")


def integer(name: str, default: int, least: int = 0, most: int | None = None) -> int:
    """Returns the variable as an integer from `least` to `most`; `default` if unset or empty.

    Raises:
      MoxValueError: the value is no such number.
    """
    value = number(name, float(default), float(least), most)
    if value != int(value):
        raise MoxValueError(f"environment variable {name}={value!r} must be a whole number")
    return int(value)


def number(name: str, default: float, least: float = 0.0, most: float | None = None) -> float:
    """Returns the variable as a number from `least` to `most`; `default` if unset or empty.

    Raises:
      MoxValueError: the value is no such number.
    """
    value = first(name)
    if value is None:
        return default
    try:
        found = float(value)
    except ValueError:
        found = least - 1
    if not least <= found < float("inf") or (most is not None and found > most):
        limits = f"of at least {least:g}" if most is None else f"from {least:g} to {most:g}"
        raise MoxValueError(f"environment variable {name}={shown(value)} must be a number {limits}")
    return found
