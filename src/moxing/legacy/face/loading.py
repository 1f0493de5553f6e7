"""Gives the user's modules their builtins, whichever of Python's loaders loads them.

Import statements, `importlib.util.spec_from_file_location`, `SourceFileLoader(...).load_module()`,
`imp.load_source`, development installs and zipped modules all end at three classes of Python's own;
`runpy` is the fourth way to run a file. All four are changed here, only for the user's files;
`compiled` sees to the loader of compiled modules.
"""

from __future__ import annotations

import importlib.machinery
import os
import runpy
import sys
import types
import zipimport
from collections.abc import Callable
from typing import Any, Protocol

from moxing.legacy.face import compiled, messages, source

_CLASSES: tuple[type, ...] = (
    importlib.machinery.SourceFileLoader,
    importlib.machinery.SourcelessFileLoader,
    zipimport.zipimporter,
)


class Owner(compiled.Owner, Protocol):
    """Says which modules are the user's, and prepares them."""

    builtins: types.ModuleType

    def has(self, name: str, path: str) -> bool:
        """Whether the module `name`, in the file `path`, sees the faces."""
        ...

    def prepare(self, module: types.ModuleType) -> types.ModuleType:
        """Lets a new module see the faces."""
        ...


def install(owner: Owner) -> None:
    """Makes the loaders prepare the owner's modules from now on."""
    modules = compiled.Modules(owner)
    compiled.install(modules)
    for loader in _CLASSES:
        loader.create_module = _create_module(owner, loader.create_module)  # type: ignore[attr-defined]
        loader.exec_module = _ExecModule(owner, modules, loader.exec_module)  # type: ignore[attr-defined]
    files: Any = importlib.machinery.SourceFileLoader
    files.get_code = _get_code(owner, files.get_code)
    _Runpy.install(owner)


def uninstall() -> None:
    """Undoes `install`."""
    for loader in _CLASSES:
        for name in ("create_module", "exec_module", "get_code"):
            # All three are inherited, or, in zipimport, had been set for the class itself.
            changed = loader.__dict__.get(name)
            before = getattr(changed, "mox_before", None)
            if before is not None:
                delattr(loader, name)
                if getattr(loader, name, None) is not before:
                    setattr(loader, name, before)
    compiled.uninstall()
    _Runpy.uninstall()


def _file(loader: Any) -> str:
    return str(getattr(loader, "path", "") or getattr(loader, "archive", ""))


def _create_module(owner: Owner, before: Callable[..., Any]) -> Callable[..., Any]:
    def create_module(loader: Any, spec: importlib.machinery.ModuleSpec) -> Any:
        if not owner.has(spec.name, _file(loader)):
            return before(loader, spec)
        return owner.prepare(types.ModuleType(spec.name))

    create_module.mox_before = before  # type: ignore[attr-defined]
    return create_module


def _get_code(owner: Owner, before: Callable[..., Any]) -> Callable[..., Any]:
    def get_code(loader: Any, fullname: str) -> types.CodeType | None:
        if owner.owns(loader.path):
            package = fullname if loader.is_package(fullname) else fullname.rpartition(".")[0]
            data = loader.get_data(loader.path)
            changed = source.compiled(data, loader.path, bool(package))
            if changed is not None:
                return changed
        elif fullname.endswith("_pb2"):
            # No library can import such a module of its own as it is.
            changed = messages.compiled(loader.get_data(loader.path), loader.path)
            if changed is not None:
                return changed
        return before(loader, fullname)

    get_code.mox_before = before  # type: ignore[attr-defined]
    return get_code


class _ExecModule:
    """An `exec_module` that prepares modules that the user's own code created.

    Python's import system creates modules by `create_module` and gets the original method, so that
    tracebacks of failing modules have no frame of this file.
    """

    def __init__(self, owner: Owner, modules: compiled.Modules, before: Callable[..., Any]) -> None:
        self._owner = owner
        self._modules = modules
        self.mox_before = before

    def __get__(self, loader: Any, kind: type) -> Callable[..., Any]:
        if loader is None:
            return self.mox_before
        plain = self._modules.method_for(loader, types.MethodType(self.mox_before, loader))
        if sys._getframe(1).f_builtins is not self._owner.builtins.__dict__:
            return plain

        def exec_module(module: types.ModuleType) -> None:
            if self._owner.has(module.__name__, _file(loader)):
                self._owner.prepare(module)
            plain(module)

        return exec_module


class _Runpy:
    """Prepares files that `runpy` runs without a loader."""

    _before: dict[str, Any] = {}

    @classmethod
    def install(cls, owner: Owner) -> None:
        module: Any = runpy
        cls._before = {name: getattr(module, name) for name in ("_run_code", "_get_code_from_file")}
        run_code, read = cls._before["_run_code"], cls._before["_get_code_from_file"]

        def _run_code(code: types.CodeType, run_globals: dict[str, Any], *rest: Any) -> Any:
            if owner.owns(code.co_filename):
                run_globals["__builtins__"] = owner.builtins.__dict__
            return run_code(code, run_globals, *rest)

        def _get_code_from_file(*names: str) -> Any:
            # Up to Python 3.11 the arguments are the name to run under and the file.
            path = os.path.abspath(names[-1])
            changed = None
            if owner.owns(path) and path.endswith(".py") and os.path.isfile(path):
                with open(path, "rb") as file:
                    changed = source.compiled(file.read(), path)
            if changed is None:
                return read(*names)
            return (changed, names[-1]) if len(names) == 2 else changed

        module._run_code = _run_code
        module._get_code_from_file = _get_code_from_file

    @classmethod
    def uninstall(cls) -> None:
        for name, value in cls._before.items():
            setattr(runpy, name, value)
        cls._before = {}
