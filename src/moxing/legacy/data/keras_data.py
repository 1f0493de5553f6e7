"""`load_data` of `tf.keras.datasets`: a file that is there is read, whatever its hash.

Keras takes one that differs from the published one for a broken download, and downloads that
anew over it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import types
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxValueError, shown
from moxing.framework.file import urls
from moxing.legacy.face.faces import Spec
from moxing.logs import TENSORFLOW

# Those whose load_data has a path.
_NAMES = ("boston_housing", "imdb", "mnist", "reuters")
_SHOWN = "tf_keras.api._v1.keras.datasets"
_REAL = "tf_keras.src.datasets"


def spec() -> Spec:
    """What programs see as `tf.keras.datasets`."""
    names = {
        name: Spec(roots=(f"{_SHOWN}.{name}",), names={"load_data": _loader(name)})
        for name in _NAMES
    }
    return Spec(roots=(_SHOWN,), names=names, deep=True)


def _loader(name: str) -> Callable[[], Any]:
    return lambda: load_data_of(importlib.import_module(f"{_REAL}.{name}"))


def load_data_of(module: types.ModuleType) -> types.FunctionType:
    """Keras' own function, but for where its file comes from."""
    real, name = module.load_data, module.__name__.rpartition(".")[2]

    def get_file(fname: Any, origin: str, file_hash: str, cache_dir: str | None = None) -> str:
        path = find(urls.text(fname), os.path.basename(origin), name, cache_dir)
        if path is None:
            return module.get_file(fname, origin=origin, file_hash=file_hash, cache_dir=cache_dir)
        _compare(path, file_hash, name)
        return path

    own = types.FunctionType(
        real.__code__, {**real.__globals__, "get_file": get_file}, "load_data", real.__defaults__
    )
    own.__kwdefaults__, own.__doc__, own.__module__ = (
        real.__kwdefaults__,
        real.__doc__,
        real.__module__,
    )
    return own


def find(path: str, published: str, name: str, cache_dir: str | None) -> str | None:
    """The file that a program means by `path`; None: Keras' own, which it fetches if need be.

    Args:
        path: of a file, or of a folder that holds the published name; relative to Keras' cache or
            to the current folder.
        published: the name of the published file.
        name: of the data.
        cache_dir: Keras' cache, if not `~/.keras`.

    Raises:
        MoxValueError: a path with a folder, at which there is no file.
    """
    cache = os.path.join(os.path.expanduser(cache_dir or "~/.keras"), "datasets")
    if path == published and os.path.exists(os.path.join(cache, path)):
        return None  # Keras' own, of which it knows whether it is whole.
    for folder in (cache, ""):
        place = os.path.join(folder, os.path.expanduser(path))
        for file in (place, os.path.join(place, published)):
            if os.path.isfile(file):
                return file
    if os.path.dirname(path):
        raise MoxValueError(
            f"tf.keras.datasets.{name}.load_data(path={shown(path)}): there is no such file. Give"
            f" the path of {published}, or leave it out to download that to {cache}."
        )
    return None


def _compare(path: str, expected: str, name: str) -> None:
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        TENSORFLOW.warning(
            "%s is read as it is; it is not the file that Keras publishes as %s (its SHA-256 is"
            " %s...).",
            path,
            name,
            found[:12],
        )
