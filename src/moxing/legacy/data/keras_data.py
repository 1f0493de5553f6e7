"""`load_data` of `tf.keras.datasets`: reads an existing file, whatever its hash.

Keras treats a file that differs from the published file as a broken download, and overwrites it
with a new download. Here only a damaged archive, which can't be read, is downloaded again.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import tarfile
import types
import zipfile
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxValueError, shown
from moxing.framework.file import urls
from moxing.legacy.face.faces import Spec
from moxing.logs import TENSORFLOW

# The function of each Keras module that fetches a file.
_FUNCTIONS = {
    "boston_housing": ("load_data",),
    "cifar10": ("load_data",),
    "cifar100": ("load_data",),
    "imdb": ("load_data", "get_word_index"),
    "mnist": ("load_data",),
    "reuters": ("load_data", "get_word_index"),
}
_MD5_LENGTH = 32
_SHOWN = "tf_keras.api._v1.keras.datasets"
_REAL = "tf_keras.src.datasets"


def spec() -> Spec:
    """Returns the face that programs see as `tf.keras.datasets`."""
    names = {
        name: Spec(
            roots=(f"{_SHOWN}.{name}",),
            names={function: _maker(name, function) for function in functions},
        )
        for name, functions in _FUNCTIONS.items()
    }
    return Spec(roots=(_SHOWN,), names=names, deep=True)


def _maker(name: str, function: str) -> Callable[[], Any]:
    return lambda: reading(importlib.import_module(f"{_REAL}.{name}"), function)


def reading(module: types.ModuleType, function: str) -> types.FunctionType:
    """Returns Keras' own function with another source of its file."""
    real, name = getattr(module, function), module.__name__.rpartition(".")[2]

    def get_file(
        fname: Any,
        origin: str,
        file_hash: str | None = None,
        cache_dir: str | None = None,
        **more: Any,
    ) -> str:
        cache_dir = cache_dir or default_cache(module.get_file)
        if more.get("untar"):
            folder = os.path.join(_cache(cache_dir), urls.text(fname))
            given = {"untar": True, "cache_dir": cache_dir}
            if os.path.isdir(folder) and not os.path.exists(f"{folder}.tar.gz"):
                return folder
            whole = _is_kept(f"{folder}.tar.gz", file_hash, name)
            return module.get_file(
                fname, origin=origin, file_hash=None if whole else file_hash, **given
            )
        path = find(urls.text(fname), os.path.basename(origin), f"{name}.{function}", cache_dir)
        if path is not None and _is_kept(path, file_hash, name):
            return path
        return module.get_file(fname, origin=origin, file_hash=file_hash, cache_dir=cache_dir)

    own = types.FunctionType(
        real.__code__, {**real.__globals__, "get_file": get_file}, function, real.__defaults__
    )
    own.__kwdefaults__, own.__doc__, own.__module__ = (
        real.__kwdefaults__,
        real.__doc__,
        real.__module__,
    )
    return own


def default_cache(get_file: Callable[..., str]) -> str | None:
    """Returns the `cache_dir` that Keras' `get_file` has by default: None means `~/.keras`."""
    return inspect.signature(get_file).parameters["cache_dir"].default


def _cache(cache_dir: str | None) -> str:
    return os.path.join(os.path.expanduser(cache_dir or "~/.keras"), "datasets")


def find(path: str, published: str, name: str, cache_dir: str | None) -> str | None:
    """Returns the file that a program means by `path`; None if Keras has to fetch it.

    A program may name a different file in each process, so that processes don't download the same
    file at the same time. If that file does not exist, the published file in the cache is meant.

    Args:
        path: the path of a file, or of a folder that holds a file of the published name; relative
            to Keras' cache or to the current folder.
        published: the name of the published file.
        name: the name of the function, as in "mnist.load_data".
        cache_dir: Keras' cache, if not `~/.keras`.

    Raises:
        MoxValueError: the path names a folder, and there is no such file.
    """
    cache = _cache(cache_dir)
    for folder in (cache, ""):
        place = os.path.join(folder, os.path.expanduser(path))
        for file in (place, os.path.join(place, published)):
            if os.path.isfile(file):
                return file
    if os.path.dirname(path):
        raise MoxValueError(
            f"tf.keras.datasets.{name}(path={shown(path)}): there is no such file. Give"
            f" the path of {published}, or leave it out to download that to {cache}."
        )
    kept = os.path.join(cache, published)
    return kept if os.path.isfile(kept) else None


def _is_kept(path: str, expected: str | None, name: str) -> bool:
    """Whether an existing file is read; logs a line if it differs from the published file."""
    if not os.path.isfile(path):
        return False
    kind = "md5" if len(expected or "") == _MD5_LENGTH else "sha256"
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    if expected is None or found == expected:
        return True
    if not _is_whole(path):
        TENSORFLOW.warning(
            "%s is damaged or of another format; the file that Keras publishes as %s is downloaded"
            " over it.",
            path,
            name,
        )
        return False
    TENSORFLOW.warning(
        "%s is read as it is; it is not the file that Keras publishes as %s (its %s is %s...).",
        path,
        name,
        "MD5" if kind == "md5" else "SHA-256",
        found[:12],
    )
    return True


def _is_whole(path: str) -> bool:
    """Whether a file can be read as an archive, or as JSON."""
    try:
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                json.load(file)
            return True
        if path.endswith((".tar.gz", ".tgz")):
            with tarfile.open(path) as archive:
                archive.getmembers()
            return True
    except (OSError, EOFError, ValueError, tarfile.TarError):
        return False
    return zipfile.is_zipfile(path)
