"""Libraries of files of data as they were in 2018.

PyYAML's `load` of one argument is read safely; h5py's datasets have `value`, and its files are
opened for writing by default.
"""

from __future__ import annotations

import os
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only


def h5py_spec() -> Spec:
    """h5py; everything else is its own."""
    return Spec(
        roots=("h5py",),
        names={"File": lambda: _file()},
        arrive=_arrive,
        library=True,
    )


def _arrive() -> None:
    import h5py

    users_only.add(h5py.Dataset, "value", lambda data: data[()], "property")


def _file() -> type:
    import h5py

    class File(h5py.File):
        """`h5py.File`, whose mode was by default "a", or "r" for files that can't be written."""

        def __init__(self, name: Any, mode: str | None = None, *args: Any, **kwargs: Any) -> None:
            if mode is None and isinstance(name, str | os.PathLike):
                readable = os.path.exists(name) and not os.access(name, os.W_OK)
                mode = "r" if readable else "a"
            super().__init__(name, mode or "r", *args, **kwargs)

    return File


def yaml_spec() -> Spec:
    """PyYAML; everything else is its own."""
    return Spec(
        roots=("yaml",),
        names={"load": lambda: load, "load_all": lambda: load_all},
        library=True,
    )


def load(stream: Any, Loader: Any = None) -> Any:
    """Returns the first document of a stream.

    Args:
        stream: a text or an open file.
        Loader: default: SafeLoader, which makes plain values only. Other values need a Loader.
    """
    import yaml

    return yaml.load(stream, Loader or yaml.SafeLoader)


def load_all(stream: Any, Loader: Any = None) -> Any:
    """Yields all documents of a stream; see `load`."""
    import yaml

    return yaml.load_all(stream, Loader or yaml.SafeLoader)
