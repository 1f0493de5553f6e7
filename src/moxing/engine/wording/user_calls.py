"""Calls the user's functions; errors say in which function, where, and with which inputs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any


def location(function: Any) -> str:
    """`name (file.py:12)` of a callable, or its repr where the source is not known."""
    inner = function
    while isinstance(inner, functools.partial) or hasattr(inner, "__wrapped__"):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__wrapped__
    name = getattr(inner, "__name__", None) or type(inner).__name__
    body = inner if hasattr(inner, "__name__") else type(inner).__call__
    code = getattr(getattr(body, "__func__", body), "__code__", None)
    if code is None:
        return str(name)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def call(role: str, function: Callable[..., Any], *args: Any, about: str = "") -> Any:
    """Calls `function`; an exception of it gets a note that names the function's role and place.

    Args:
        role: the user's name for the function, such as "input_fn".
        function: the user's function.
        *args: passed on.
        about: said after the place, such as the mode and the shapes given.
    """
    try:
        return function(*args)
    except Exception as error:
        place = location(function)
        named = place if place.startswith(f"{role} (") else f"{role} {place}"
        error.add_note(f"openmox: raised while calling {named}{', ' + about if about else ''}")
        raise
