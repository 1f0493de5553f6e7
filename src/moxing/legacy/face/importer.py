"""Gives the user's own modules an import function of their own.

CPython looks up `__import__` in the builtins of the importing frame, which come from the module's
`__builtins__`. So a module that is created with builtins whose `__import__` is ours sees the faces,
and no other module does. Everything else in those builtins is the real thing, and later changes to
the real builtins (`unittest.mock.patch`, functions that replace `open`) reach them too.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from typing import Any

import moxing
from moxing.errors import MoxError, MoxImportError
from moxing.legacy.face import source
from moxing.legacy.face.faces import Faces

# tf-slim was written against private files of TensorFlow; the faces know where their names went.
_ALSO_OURS = ("tf_slim",)
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")


class UserCode:
    """What belongs to the program, and the builtins that its modules get."""

    def __init__(self, root: str, faces: Faces) -> None:
        """Args: root: the folder of the script. faces: what its modules see."""
        self._root = os.path.realpath(root)
        # What PYTHONPATH names was put there for the program, as its own additions are.
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        own = {_real(entry) for entry in given if entry}
        self._path_at_start = {_real(entry) for entry in sys.path} - own
        self._not_ours = tuple(_real(folder) + os.sep for folder in _foreign_folders())
        self.faces = faces
        self.builtins = types.ModuleType("builtins", builtins.__doc__)
        self.builtins.__dict__.update(builtins.__dict__)
        self.builtins.__dict__["__import__"] = _import_function(faces)

    def owns(self, path: str) -> bool:
        """Whether a source file is one of the user's own.

        Those are the files below the script's folder and below folders that PYTHONPATH or the
        program itself adds to `sys.path`, unless they belong to Python or to an installed library.
        """
        real = os.path.realpath(path)
        if real.startswith(self._not_ours) or any(
            f"{os.sep}{folder}{os.sep}" in real for folder in _LIBRARY_FOLDERS
        ):
            return False
        return any(real.startswith(folder + os.sep) for folder in self._folders())

    def _folders(self) -> list[str]:
        added = [_real(entry) for entry in sys.path]
        return [self._root, *(entry for entry in added if entry not in self._path_at_start)]

    def prepare(self, module: types.ModuleType) -> types.ModuleType:
        """Lets a new module see the faces."""
        # As in Python itself, the main program gets a module and every other module a dict.
        main = module.__name__ == "__main__"
        module.__dict__["__builtins__"] = self.builtins if main else self.builtins.__dict__
        return module

    def is_user_frame(self, frame: types.FrameType) -> bool:
        """Whether a frame runs the user's own code."""
        return frame.f_builtins is self.builtins.__dict__ and self.owns(frame.f_code.co_filename)


class UserLoader(importlib.machinery.SourceFileLoader):
    """Python's loader of source files, for the user's own modules."""

    def __init__(self, fullname: str, path: str, code: UserCode) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> types.CodeType | None:
        if fullname.partition(".")[0] in _ALSO_OURS:
            return super().get_code(fullname)
        package = fullname if self.is_package(fullname) else fullname.rpartition(".")[0]
        data = self.get_data(self.path)
        return source.compiled(data, self.path, bool(package)) or super().get_code(fullname)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self._code.prepare(types.ModuleType(spec.name))


class UserFinder:
    """Finds what Python's path finder finds, and gives the user's modules to `UserLoader`."""

    def __init__(self, code: UserCode) -> None:
        self._code = code

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return spec
        origin = spec.loader.path
        if fullname.partition(".")[0] in _ALSO_OURS or self._code.owns(origin):
            spec.loader = UserLoader(fullname, origin, self._code)
        return spec

    def invalidate_caches(self) -> None:
        importlib.machinery.PathFinder.invalidate_caches()


class _MirroredBuiltins(types.ModuleType):
    """The real builtins, which pass on what is put into them from now on."""

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


def install(root: str, faces: Faces) -> UserCode:
    """From now on the user's modules, those below `root`, see the faces.

    Modules that were imported before keep what they have.
    """
    code = UserCode(root, faces)
    place = len(sys.meta_path)
    if importlib.machinery.PathFinder in sys.meta_path:
        place = sys.meta_path.index(importlib.machinery.PathFinder)
    sys.meta_path.insert(place, UserFinder(code))
    builtins.__dict__[_MIRROR] = code.builtins.__dict__
    builtins.__class__ = _MirroredBuiltins
    return code


def uninstall(code: UserCode) -> None:
    """Takes back what `install` did; modules that are loaded keep what they see."""
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if getattr(finder, "_code", None) is not code
    ]
    builtins.__class__ = types.ModuleType
    builtins.__dict__.pop(_MIRROR, None)


def _import_function(faces: Faces) -> Callable[..., types.ModuleType]:
    real_import = builtins.__import__

    def __import__(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        # An empty list is what C code passes that imports for itself while the user's frame runs
        # (PyImport_Import); no import statement does.
        if level or fromlist == [] or not faces.covers(name):
            return real_import(name, globals, locals, fromlist or (), level)
        module = faces.load(name)
        if not fromlist:
            return faces.load(name.partition(".")[0])
        for item in fromlist:
            if item != "*" and not hasattr(module, item):
                _import_item(faces, name, item)
        return module

    return __import__


def _import_item(faces: Faces, name: str, item: str) -> None:
    """Imports the submodule that `from name import item` asks for."""
    plain = f"cannot import {item!r} from {name!r}."
    try:
        faces.load(f"{name}.{item}")
    except ModuleNotFoundError as error:
        raise MoxImportError(_why(faces.load(name), item) or plain, name=name) from error


def _why(module: types.ModuleType, item: str) -> str:
    """What a module of ours says of a name that it does not have, if it is one."""
    try:
        getattr(module, item)
    except (AttributeError, NotImplementedError) as error:
        return str(error) if isinstance(error, MoxError) else ""
    return ""


def _foreign_folders() -> list[str]:
    """Folders whose Python files are never the user's, even below the script's folder."""
    folders = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*folders, os.path.dirname(moxing.__file__)]


def _real(entry: str) -> str:
    return os.path.realpath(entry or os.getcwd())
