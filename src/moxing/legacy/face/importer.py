"""Gives the user's own modules an import function of their own.

CPython looks up `__import__` in the builtins of the importing frame, which come from the module's
`__builtins__`. So only modules that are created with openmox's `__import__` in their builtins see
the faces. All other entries of those builtins are the real objects, and later changes to the real
builtins (`unittest.mock.patch`, functions that replace `open`) apply to them too.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

from moxing.errors import MoxError, MoxImportError
from moxing.legacy.face import aged, gone, loading, owned, pickled
from moxing.legacy.face.faces import Faces

# tf-slim was written against private files of TensorFlow; the faces know where their names went.
_ALSO_OURS = ("tf_slim",)
# Gives its own builtins to the functions that it reads from pickles, which the program wrote. Other
# libraries have copies of this package.
_CLOUD = "cloudpickle"


class UserCode:
    """The files that belong to the program, and the builtins of its modules."""

    def __init__(self, faces: Faces, named: Collection[str] = ()) -> None:
        """Args: faces: the faces. named: installed packages whose modules also see the faces."""
        self._named = {*_ALSO_OURS, *named}
        self.faces = faces
        self.builtins = types.ModuleType("builtins", builtins.__doc__)
        self.builtins.__dict__.update(builtins.__dict__)
        self.builtins.__dict__["__import__"] = _import_function(self)

    def owns(self, path: str) -> bool:
        """Whether a source file is one of the user's own.

        All files are the user's except those of Python, of openmox and of installed libraries.
        """
        return owned.owns(path)

    def has(self, name: str, path: str) -> bool:
        """Whether the module `name`, in the file `path`, sees the faces."""
        return name.partition(".")[0] in self._named or _CLOUD in name.split(".") or self.owns(path)

    def prepare(self, module: types.ModuleType) -> types.ModuleType:
        """Lets a new module see the faces."""
        # As in Python, `__builtins__` is a module in the main program and a dict in other modules.
        main = module.__name__ == "__main__"
        module.__dict__["__builtins__"] = self.builtins if main else self.builtins.__dict__
        return module

    def learn(self, error: BaseException) -> bool:
        """Shows the faces to an installed library whose import failed without them.

        Its modules are taken back, so that the next import loads them anew. Returns whether the
        error is about such a library.
        """
        package = aged.package_of(error, self.faces)
        if not package or package in self._named:
            return False
        self._named.add(package)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        aged.forget(package)
        print(
            f"mox: the installed {package} is older than the libraries that it imports ({error}):"
            f" it sees the libraries of its time, as by --face={package}.",
            file=sys.stderr,
            flush=True,
        )
        return True

    def is_user_frame(self, frame: types.FrameType) -> bool:
        """Whether a frame runs the user's own code."""
        return frame.f_builtins is self.builtins.__dict__ and self.owns(frame.f_code.co_filename)


class MainLoader(importlib.machinery.SourceFileLoader):
    """The loader of the main program; by its type, `startup` knows that `mox run` prints errors."""


class _MirroredBuiltins(types.ModuleType):
    """The real builtins, which copy attributes that are set later to the user's builtins."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "__import__":
            _mirror(self)[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        _mirror(self).pop(name, None)


def _mirror(module: types.ModuleType) -> dict[str, Any]:
    return module.__dict__[_MIRROR]


_MIRROR = "__mox_mirror__"


def install(faces: Faces, named: Collection[str] = ()) -> UserCode:
    """Makes the user's modules, and the `named` packages, see the faces from now on.

    Modules that were imported earlier do not change.
    """
    code = UserCode(faces, named)
    pickled.faces = faces
    loading.install(code)
    builtins.__dict__[_MIRROR] = code.builtins.__dict__
    builtins.__class__ = _MirroredBuiltins
    return code


def uninstall() -> None:
    """Undoes `install`; loaded modules keep their faces."""
    pickled.faces = None
    loading.uninstall()
    builtins.__class__ = types.ModuleType
    builtins.__dict__.pop(_MIRROR, None)


def _import_function(code: UserCode) -> Callable[..., types.ModuleType]:
    real_import = builtins.__import__
    faces = code.faces

    def as_python(
        name: str, globals: Any, locals: Any, fromlist: Sequence[str], level: int, within: bool
    ) -> types.ModuleType:
        try:
            return real_import(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            top = name.partition(".")[0]
            if not within or error.name != top or not _is_beside(top, globals):
                raise
        return real_import(name, globals, locals, fromlist, 1)

    def __import__(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        # C code that imports for itself while the user's frame runs (PyImport_Import) passes an
        # empty list; import statements never do.
        if level or fromlist == [] or not faces.covers(name):
            within = not level and fromlist != []
            while True:
                try:
                    return as_python(name, globals, locals, fromlist or (), level, within)
                except (ImportError, AttributeError) as error:
                    if not code.learn(error):
                        raise
        module = _load(faces, name, sys._getframe(1))
        if not fromlist:
            return faces.load(name.partition(".")[0])
        for item in fromlist:
            if item != "*" and not _has(module, item):
                _import_item(faces, name, item, sys._getframe(1))
        return module

    return __import__


def _is_beside(name: str, importer: Any) -> bool:
    """Whether a module lies beside the one that imports it, where Python 2 looked first."""
    package = (importer or {}).get("__package__")
    beside = f"{package}.{name}"
    return bool(package and beside != importer.get("__name__") and importlib.util.find_spec(beside))


def _has(module: types.ModuleType, item: str) -> bool:
    return hasattr(module, item) and not isinstance(module.__dict__.get(item), gone.StandIn)


def _load(faces: Faces, name: str, importer: types.FrameType) -> types.ModuleType:
    """Returns the module to show, or a stand-in if it is gone and the import is not guarded."""
    try:
        return faces.load(name)
    except ImportError:
        module = None if gone.is_guarded(importer) else faces.stand_in(name)
        if module is None:
            raise
        return module


def _import_item(faces: Faces, name: str, item: str, importer: types.FrameType) -> None:
    """Imports the submodule that `from name import item` asks for."""
    plain = f"cannot import {item!r} from {name!r}."
    try:
        _load(faces, f"{name}.{item}", importer)
    except ModuleNotFoundError as error:
        raise MoxImportError(_why(faces.load(name), item) or plain, name=name) from error


def _why(module: types.ModuleType, item: str) -> str:
    """Returns the error text of openmox's module for a missing name; empty for other modules."""
    try:
        getattr(module, item)
    except (AttributeError, NotImplementedError) as error:
        return str(error) if isinstance(error, MoxError) else ""
    return ""
