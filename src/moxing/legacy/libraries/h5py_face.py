"""h5py as it was before 3.0: `Dataset.value`, and files that are opened for writing by default."""

from __future__ import annotations

import os
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only


def spec() -> Spec:
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
