"""`keras.legacy.interfaces`: decorators that converted arguments, as the layers now do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.errors import MoxAttributeError
from moxing.legacy.keras.older.small import arguments_as_they_are, as_it_is


def __getattr__(name: str) -> Any:
    if name.startswith("legacy_") or name.endswith("_support"):
        return as_it_is
    if name.endswith(("_preprocessor", "_preprocessing")):
        return arguments_as_they_are
    if name.startswith("__"):
        raise AttributeError(name)
    raise MoxAttributeError(f"keras.legacy.interfaces has no {name}.", name=name)


def generate_legacy_interface(*given: Any, **named: Any) -> Callable[..., Any]:
    """Returns a decorator without effect, whatever arguments it was to convert."""
    return as_it_is
