"""Finds the names of TensorFlow 1.x that the installed TensorFlow lacks, by its lists of names.

An import of TensorFlow takes seconds. Reading its packages' source files, which list the public
names, takes milliseconds.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
from collections.abc import Sequence

# Names that tensorflow.compat.v1 lacks, too.
_GONE = (
    ("contrib",),
    ("examples",),
    ("estimator",),
    ("keras", "estimator"),
    ("python", "estimator"),
)
# In TensorFlow 2.x, these names are Keras' modules.
_OF_KERAS = ("initializers", "losses", "metrics", "optimizers")
_PRIVATE_UTILS = ("python", "keras", "utils")
_V1 = ("_api", "v2", "compat", "v1")


def is_lost(name: Sequence[str]) -> bool:
    """Whether a name in `tensorflow` existed in TensorFlow 1.x and no longer exists.

    Args:
        name: the parts of the name, such as `("train", "Saver")`; `*`: all names of a package.
    """
    parts = tuple(name)
    if parts[:2] == ("compat", "v1"):
        parts = parts[2:]
        return _is_gone(parts)
    if _is_gone(parts):
        return True
    if parts[:3] == _PRIVATE_UTILS and len(parts) == 4:
        # The package had a function for each of them; now it has submodules only.
        return parts[3] == "*" or not _is_there("tensorflow", parts)
    for end, part in enumerate(parts):
        module = parts[:end]
        if part not in _in_v2(module):
            return part in _names("tensorflow", (*_V1, *module))
        if not _is_there("tensorflow", (*_V1, *module, part)):
            return False
    return False


def is_new(name: Sequence[str]) -> bool:
    """Whether TensorFlow 2.x has a name in `tensorflow` that TensorFlow 1.x did not have."""
    new = is_in("tensorflow", ("_api", "v2"), name)
    if name[0] in _OF_KERAS:
        new = len(name) == 1 or is_in("tf_keras", ("api", "_v2", "keras"), name)
    return new and not is_in("tensorflow", _V1, name)


def is_in(package: str, folder: Sequence[str], name: Sequence[str]) -> bool:
    """Whether a package has a name, according to its lists of names.

    Args:
        package: such as "keras".
        folder: the folder in the package that has the list of its own names.
        name: parts of a dotted name.
    """
    for end, part in enumerate(name):
        path = (*folder, *name[:end])
        if part in _names(package, path) or _is_there(package, (*path, part)):
            continue
        # The lists do not contain attributes of classes.
        return end > 0 and not _names(package, path)
    return True


def _is_gone(parts: tuple[str, ...]) -> bool:
    return any(parts[: len(gone)] == gone for gone in _GONE)


def _in_v2(module: tuple[str, ...]) -> frozenset[str]:
    if not module:
        own = _names("tensorflow", ())
        return own | {"keras", *_OF_KERAS} if own else own
    if module[0] in _OF_KERAS:
        # TF_USE_LEGACY_KERAS selects the package.
        old = _names("tf_keras", ("api", "_v2", "keras", *module))
        return old | _names("keras", ("_tf_keras", "keras", *module))
    return _names("tensorflow", ("_api", "v2", *module))


def _is_there(package: str, path: tuple[str, ...]) -> bool:
    file = os.path.join(_folder(package), *path)
    return os.path.isdir(file) or os.path.isfile(f"{file}.py")


@functools.cache
def _names(package: str, path: tuple[str, ...]) -> frozenset[str]:
    """Returns the names in a package's `__init__.py`; no names if there is no such file."""
    try:
        with open(os.path.join(_folder(package), *path, "__init__.py"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return frozenset()
    shown = (
        item for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for item in node.names
    )
    return frozenset(item.asname or item.name for item in shown)


@functools.cache
def _folder(package: str) -> str:
    """Returns a package's folder; a path that does not exist if the package is not installed."""
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else os.devnull
