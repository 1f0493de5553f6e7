"""`mock` and `pydoc` as the user's modules see them: names in texts are names of the faces.

`mock.patch("tensorflow.get_variable", ...)` imports `tensorflow` by itself, in a module that is
not the user's, and so reached the real module, which the program does not see.
"""

from __future__ import annotations

import importlib
import pydoc
import types
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Faces, Spec


def specs(faces: Callable[[], Faces]) -> dict[str, Spec]:
    """Returns the faces of `unittest`, `mock` and `pydoc`.

    Args:
        faces: returns the table that the names in texts are looked up in.
    """
    return {
        "unittest": Spec(
            roots=("unittest",), names={"mock": mock_spec("unittest.mock", faces)}, live=True
        ),
        "pydoc": Spec(roots=("pydoc",), names={"locate": lambda: _locator(faces())}, live=True),
    }


def mock_spec(module: str, faces: Callable[[], Faces]) -> Spec:
    """Returns the face of a module that has `patch`.

    Args:
        module: the name of the module, `"mock"` or `"unittest.mock"`.
        faces: as of `specs`.
    """
    return Spec(
        roots=(module,),
        names={"patch": lambda: Patch(faces(), importlib.import_module(module).patch)},
        live=True,
    )


class Patch:
    """`mock.patch`, which looks targets up in the faces.

    A target is looked up when the patch begins, as `mock` does it; everything else, such as
    `patch.object`, is `mock`'s own.
    """

    def __init__(self, faces: Faces, real: Any) -> None:
        self._faces = faces
        self._real = real

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> Any:
        patcher = self._real(target, *args, **kwargs)
        if isinstance(target, str) and self._faces.covers(target):
            patcher.getter = lambda: find(self._faces, target.rpartition(".")[0])
        return patcher

    def multiple(self, target: Any, *args: Any, **kwargs: Any) -> Any:
        """`patch.multiple`: one object, many attributes."""
        patcher = self._real.multiple(target, *args, **kwargs)
        if isinstance(target, str) and self._faces.covers(target):
            for part in (patcher, *patcher.additional_patchers):
                part.getter = lambda: find(self._faces, target)
        return patcher

    def dict(self, in_dict: Any, *args: Any, **kwargs: Any) -> Any:
        """`patch.dict`: a dictionary, or the name of a dictionary."""
        if isinstance(in_dict, str) and self._faces.covers(in_dict):
            in_dict = find(self._faces, in_dict)
        return self._real.dict(in_dict, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._real, name, value)


def find(faces: Faces, path: str) -> Any:
    """Returns the module, or the attribute of a module, of a dotted name as a program sees it.

    Raises:
        ImportError: no part of the name is a module of the faces.
        AttributeError: an object on the way lacks the next part of the name.
    """
    first, *rest = path.split(".")
    found: Any = faces.load(first)
    name = first
    for part in rest:
        name = f"{name}.{part}"
        # A submodule may not have been imported yet.
        if isinstance(found, types.ModuleType) and not hasattr(found, part):
            found = faces.load(name)
        else:
            found = getattr(found, part)
    return found


def _locator(faces: Faces) -> Callable[..., Any]:
    def locate(path: str, forceload: bool | int = 0) -> Any:
        """Returns the object of a dotted name, None if there is none, as `pydoc.locate` does."""
        if not faces.covers(path):
            return pydoc.locate(path, bool(forceload))
        try:
            return find(faces, path)
        except (ImportError, AttributeError):
            return None

    return locate
