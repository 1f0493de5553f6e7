"""Restores attributes of Python's classes for the user's modules only."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any


def is_users(frame: types.FrameType) -> bool:
    """Whether a frame runs a module of the program; such modules have builtins of their own."""
    return frame.f_builtins is not builtins.__dict__


class OldAttribute:
    """An attribute of a class that only the user's modules can read."""

    def __init__(self, function: Callable[..., Any], how: str, missing: str) -> None:
        """Args: how: "method", "class" or "property". missing: the error text for other modules."""
        self._function = function
        self._how = how
        self._missing = missing

    def bound(self, instance: Any) -> Any:
        """Returns the method of an instance, for the user's module that asked for it."""
        return functools.partial(self._function, instance)

    def __get__(self, instance: Any, owner: type) -> Any:
        if not is_users(sys._getframe(1)):
            raise AttributeError(self._missing)
        if self._how == "class":
            return functools.partial(self._function, owner)
        if instance is None:
            return self._function
        if self._how == "property":
            return self._function(instance)
        return functools.partial(self._function, instance)


def add(owner: type, name: str, function: Callable[..., Any], how: str = "method") -> None:
    """Gives a class an attribute that it once had, unless the class still has it.

    Args:
        owner: the class.
        name: the name of the attribute.
        function: called with the instance, or, for "class", with the class.
        how: "method", "class" for class methods, "property" for values.
    """
    if not hasattr(owner, name) and name not in owner.__dict__:
        missing = f"type object '{owner.__name__}' has no attribute '{name}'"
        setattr(owner, name, OldAttribute(function, how, missing))
