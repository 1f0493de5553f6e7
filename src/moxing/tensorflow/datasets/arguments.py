"""Checks the arguments of readers when they are made, not when the first sample is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.framework.file import urls


def count(reader: str, name: str, value: Any, least: int) -> int:
    """Returns a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise MoxTypeError(f"{reader}: {name}={value!r}; it must be a whole number.")
    if value < least:
        raise MoxValueError(f"{reader}: {name}={value}; it must be at least {least}.")
    return int(value)


def optional_count(reader: str, name: str, value: Any, least: int) -> int | None:
    """Returns a whole number of at least `least`, or None."""
    return None if value is None else count(reader, name, value, least)


def flag(reader: str, name: str, value: Any) -> bool:
    """Returns True or False; raises an error for anything else."""
    if not isinstance(value, bool):
        raise MoxTypeError(f"{reader}: {name}={value!r}; it must be True or False.")
    return value


def path(reader: str, name: str, value: Any) -> str:
    """Returns a path or URL as a string."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        hint = " Was a flag of the program left out?" if not value else ""
        raise MoxTypeError(f"{reader}: {name}={value!r}; it must be a path.{hint}")
    return urls.text(value)


def function(reader: str, name: str, value: Any) -> Any:
    """Returns a function, or None."""
    if value is not None and not callable(value):
        raise MoxTypeError(f"{reader}: {name}={value!r}; it must be a function.")
    return value


def image_size(reader: str, value: Any) -> tuple[int, int] | None:
    """Returns (height, width) for a pair, or for one number that stands for both."""
    if value is None:
        return None
    pair = [value, value] if hasattr(value, "__index__") else list(value)
    if len(pair) != 2:
        raise MoxValueError(
            f"{reader}: image_size={value!r}; it must be one number of pixels, or (height, width)."
        )
    height, width = (count(reader, "image_size", part, 1) for part in pair)
    return height, width


def features(reader: str, name: str, keys: Any, values: Any) -> dict[str, Any]:
    """Returns the features by name, from the lists `<name>_keys` and `<name>_values`."""
    if len(keys) != len(values):
        raise MoxValueError(
            f"{reader}: {len(keys)} {name}_keys, but {len(values)} {name}_values; they belong"
            " together one by one."
        )
    return dict(zip(keys, values, strict=True))


def items(reader: str, wanted: Any, legal: Sequence[str]) -> list[str]:
    """Returns the names of the items that `get` was asked for, as a list."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in legal:
            raise MoxValueError(
                f"{reader}.get: there is no item {name!r}.{near_matches(str(name), legal)} The"
                f" items are {', '.join(repr(item) for item in legal)}."
            )
    return names
