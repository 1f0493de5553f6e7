"""`keras.legacy.interfaces`: decorators that converted arguments, as the layers now do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.errors import MoxAttributeError


def __getattr__(name: str) -> Any:
    if name.startswith("legacy_") or name.endswith("_support"):
        return _as_it_is
    if name.startswith("__"):
        raise AttributeError(name)
    raise MoxAttributeError(f"keras.legacy.interfaces has no {name}.", name=name)


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
