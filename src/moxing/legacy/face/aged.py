"""Finds installed libraries that their age keeps from being imported, and that the faces help.

A library of 2018 in site-packages, such as attrdict, imports names that Python, NumPy or TensorFlow
dropped since. `--face=attrdict` shows it the libraries of its time; here its failed import says so.
"""

from __future__ import annotations

import re
import sys
import traceback
import types
from typing import Any

from moxing.legacy.face.faces import Faces

_NAME_OF = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_FOLDERS = ("/site-packages/", "/dist-packages/")


def package_of(error: BaseException, faces: Faces) -> str:
    """Returns the installed package whose import failed for a name that the faces have.

    Args:
        error: the error of the import.
        faces: the faces.

    Returns:
        The package, or an empty text: another error, a name that no face has, or the user's file.
    """
    lost = _lost_name(error)
    if lost is None or not faces.covers(lost[0]):
        return ""
    module, name = lost
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        owner = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        # A library that says by itself what it lacks, and Python's own import system.
        if owner in (module.partition(".")[0], "moxing", "importlib", "_frozen_importlib"):
            continue
        file = frame.f_code.co_filename.replace("\\", "/")
        installed = any(folder in file for folder in _FOLDERS)
        if not installed or faces.covers(owner) or owner in sys.stdlib_module_names:
            return ""
        return owner if _has(faces, module, name) else ""
    return ""


def forget(package: str) -> None:
    """Takes back what a package's modules have registered with TensorFlow.

    They are about to be imported anew, and TensorFlow refuses a second gradient or a second
    function of a collection under one name.
    """
    framework = sys.modules.get("tensorflow.python.framework.ops")
    if framework is None:
        return
    kind = type(framework.__dict__["gradient_registry"])
    for registry in [value for value in vars(framework).values() if isinstance(value, kind)]:
        entries: dict[str, dict[str, Any]] = registry._registry
        for name in [name for name, entry in entries.items() if _is_of(package, entry["type"])]:
            del entries[name]


def _is_of(package: str, registered: Any) -> bool:
    """Whether a function, or one of several, was registered by a module of the package."""
    parts = registered if isinstance(registered, tuple) else (registered,)
    return any(str(getattr(part, "__module__", "")).partition(".")[0] == package for part in parts)


def _lost_name(error: BaseException) -> tuple[str, str] | None:
    """Returns the module and the name in it that an error is about; no name: the module itself."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name, "") if error.name else None
    if isinstance(error, ImportError):
        found = _NAME_OF.search(str(error))
        return (found[2], found[1]) if found else None
    owner = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and isinstance(owner, types.ModuleType):
        return owner.__name__, str(error.name)
    return None


def _has(faces: Faces, module: str, name: str) -> bool:
    try:
        shown = faces.load(module)
    except ImportError:
        return False
    return not name or hasattr(shown, name)
