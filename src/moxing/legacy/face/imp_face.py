"""The module `imp`, which Python 3.12 no longer has, built on `importlib`.

https://docs.python.org/3.11/library/imp.html says what each function does.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

from moxing.errors import MoxImportError

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY, C_BUILTIN, PY_FROZEN = 1, 2, 3, 5, 6, 7

reload = importlib.reload
cache_from_source = importlib.util.cache_from_source
source_from_cache = importlib.util.source_from_cache


def new_module(name: str) -> types.ModuleType:
    """Returns an empty module that is not in `sys.modules`."""
    return types.ModuleType(name)


def get_magic() -> bytes:
    """Returns the bytes with which compiled files of this Python begin."""
    return importlib.util.MAGIC_NUMBER


def get_suffixes() -> list[tuple[str, str, int]]:
    """Returns suffixes of module files, each with the mode to open the file and the kind."""
    kinds = (
        (importlib.machinery.EXTENSION_SUFFIXES, "rb", C_EXTENSION),
        (importlib.machinery.SOURCE_SUFFIXES, "r", PY_SOURCE),
        (importlib.machinery.BYTECODE_SUFFIXES, "rb", PY_COMPILED),
    )
    return [(suffix, mode, kind) for suffixes, mode, kind in kinds for suffix in suffixes]


def find_module(
    name: str, path: Sequence[str] | None = None
) -> tuple[Any, str | None, tuple[str, str, int]]:
    """Finds a module that is no part of a package.

    Returns:
        An open file or None, its path, and its suffix, mode and kind, for `load_module`.

    Raises:
        MoxImportError: there is no such module.
    """
    if path is None and name in sys.builtin_module_names:
        return None, None, ("", "", C_BUILTIN)
    for folder in sys.path if path is None else path:
        package = os.path.join(folder, name)
        if os.path.isfile(os.path.join(package, "__init__.py")):
            return None, package, ("", "", PKG_DIRECTORY)
        for suffix, mode, kind in get_suffixes():
            file = os.path.join(folder, name + suffix)
            if os.path.isfile(file):
                return open(file, mode), file, (suffix, mode, kind)  # noqa: SIM115 - the caller's
    raise MoxImportError(f"No module named {name!r}", name=name)


def load_module(
    name: str, file: Any, filename: str, details: tuple[str, str, int]
) -> types.ModuleType:
    """Loads a module that `find_module` found, again if the module is already loaded.

    Raises:
        MoxImportError: the kind of the module is unknown.
    """
    kind = details[2]
    with file or contextlib.nullcontext():
        if kind == PY_SOURCE:
            return load_source(name, filename)
        if kind == PY_COMPILED:
            return load_compiled(name, filename)
        if kind == C_EXTENSION:
            return load_dynamic(name, filename)
        if kind == PKG_DIRECTORY:
            return load_package(name, filename)
        if kind == C_BUILTIN:
            return importlib.import_module(name)
    raise MoxImportError(f"{name}: there is no kind {kind} of modules.", name=name)


def load_source(name: str, pathname: str, file: Any = None) -> types.ModuleType:
    """Runs a source file as the module `name`, even if that module is already loaded."""
    del file
    return _load(name, importlib.machinery.SourceFileLoader(name, pathname))


def load_compiled(name: str, pathname: str, file: Any = None) -> types.ModuleType:
    """Runs a compiled file as the module `name`."""
    del file
    return _load(name, importlib.machinery.SourcelessFileLoader(name, pathname))


def load_dynamic(name: str, path: str, file: Any = None) -> types.ModuleType:
    """Loads an extension module."""
    del file
    return _load(name, importlib.machinery.ExtensionFileLoader(name, path))


def load_package(name: str, path: str) -> types.ModuleType:
    """Runs a folder's `__init__.py` as the package `name`."""
    return load_source(name, os.path.join(path, "__init__.py"))


def acquire_lock() -> None:
    """Does nothing: since Python 3.3, each module has a lock of its own."""


release_lock = acquire_lock


def lock_held() -> bool:
    """Returns False: there is no such lock."""
    return False


def _load(name: str, loader: Any) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, loader.path, loader=loader)
    if spec is None:
        raise MoxImportError(f"cannot load {name} from {loader.path}.", name=name)
    known = sys.modules.get(name)
    module = importlib.util.module_from_spec(spec)
    if known is not None:
        module.__dict__.pop("__doc__")
        known.__dict__.update(module.__dict__)
        module = known
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        if known is None:
            sys.modules.pop(name, None)
        raise
    return sys.modules[name]
