"""Lets the program's compiled modules, such as those of Cython, see the libraries of its time.

Compiled code imports through Python's C functions, which ask `sys.modules` and no `__import__`. So
`sys.modules` holds the faces for as long as a compiled module of the program starts; while that
module loads another module, `sys.modules` holds the real modules again.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_LOADER = importlib.machinery.ExtensionFileLoader
# A compiled module starts in `exec_module`; one of the kind before PEP 489, in `create_module`.
_METHODS = ("create_module", "exec_module")


class Loaded(Protocol):
    """The faces of libraries."""

    def of_loaded(self) -> dict[str, types.ModuleType]:
        """Returns the faces of the libraries that are imported, by name."""
        ...


class Owner(Protocol):
    """Says which files are the program's, and has the faces."""

    @property
    def faces(self) -> Loaded:
        """The faces."""
        ...

    def owns(self, path: str) -> bool:
        """Whether a file is one of the program's own."""
        ...


class Modules:
    """Switches `sys.modules` between the faces of libraries and the real modules."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._real: dict[str, types.ModuleType] = {}

    def method_for(self, loader: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a loader's method, which runs with the modules in place that its file sees."""
        if isinstance(loader, _LOADER) and self._owner.owns(str(loader.path)):
            return functools.partial(_within, self._faces, method)
        return functools.partial(_within, self._reals, method) if self._real else method

    @contextlib.contextmanager
    def _faces(self) -> Iterator[None]:
        faces = self._owner.faces.of_loaded()
        with self._exchanged({name: sys.modules[name] for name in faces}, faces):
            yield

    @contextlib.contextmanager
    def _reals(self) -> Iterator[None]:
        with self._exchanged({}, self._real):
            yield

    @contextlib.contextmanager
    def _exchanged(
        self, real: dict[str, types.ModuleType], shown: dict[str, types.ModuleType]
    ) -> Iterator[None]:
        before = self._real, {name: sys.modules[name] for name in shown}
        self._real = real
        sys.modules.update(shown)
        try:
            yield
        finally:
            self._real = before[0]
            sys.modules.update(before[1])


class _Method:
    """A method of Python's loader of compiled modules."""

    def __init__(self, modules: Modules, before: Any) -> None:
        self._modules = modules
        self.before = before

    def __get__(self, loader: Any, kind: type) -> Any:
        if loader is None:
            return self.before
        return self._modules.method_for(loader, types.MethodType(self.before, loader))


def install(modules: Modules) -> None:
    """Makes Python's loader of compiled modules switch `sys.modules` by `modules`."""
    for name in _METHODS:
        setattr(_LOADER, name, _Method(modules, getattr(_LOADER, name)))


def uninstall() -> None:
    """Undoes `install`."""
    for name in _METHODS:
        changed = _LOADER.__dict__[name]
        if isinstance(changed, _Method):
            setattr(_LOADER, name, changed.before)


def _within(
    context: Callable[[], contextlib.AbstractContextManager[None]],
    method: Callable[..., Any],
    *arguments: Any,
) -> Any:
    with context():
        return method(*arguments)
