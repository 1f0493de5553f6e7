"""Reads faces from pickles: cloudpickle writes modules that a function uses by their names.

A function may be read in another process, such as the one that spinningup starts for each
experiment, or by a program that sees no faces.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Protocol


class _Loads(Protocol):
    def covers(self, name: str) -> bool: ...
    def load(self, name: str) -> ModuleType: ...


# The faces of this process, while the program's modules see faces.
faces: _Loads | None = None


def module(name: str) -> ModuleType:
    """The face of that name, or the real module in a process without faces."""
    if faces is not None and faces.covers(name):
        return faces.load(name)
    return importlib.import_module(name)
