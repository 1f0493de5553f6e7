"""Keeps the Python files that AutoGraph generates in a folder that no other user can write to.

TensorFlow writes each file to the temporary folder, which users share, and imports it there. But
Python takes `__pycache__/NAME.pyc` beside a module in the module's place, whoever made that
`__pycache__`: another user's code would run as this user.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any

from moxing.framework import owners

PREFIX = "moxing-autograph-"


class Rooms:
    """Stands in for the module `tempfile`: files that have a name get a folder of this process."""

    def __init__(self) -> None:
        self._folder, self._process = "", 0

    def __getattr__(self, name: str) -> Any:
        return getattr(tempfile, name)

    def NamedTemporaryFile(self, *args: Any, **options: Any) -> Any:
        """Like the function of `tempfile`, in the folder of this process.

        Raises:
            OSError: the folder or the file can't be made.
        """
        return tempfile.NamedTemporaryFile(*args, **options, dir=self._own())  # noqa: SIM115

    def _own(self) -> str:
        # A fork needs a folder of its own, since its parent may end first; and some machines remove
        # what is old in the temporary folder.
        if self._process != os.getpid() or not os.path.isdir(self._folder):
            owners.sweep(tempfile.gettempdir(), PREFIX)
            prefix = f"{PREFIX}{owners.Owner.this_process()}."
            self._folder, self._process = tempfile.mkdtemp(prefix=prefix), os.getpid()
            atexit.register(_remove, self._folder, self._process)
        return self._folder


def install() -> None:
    """From now on, AutoGraph's files are in a folder that is removed at the end of this process."""
    from tensorflow.python.autograph.pyct import loader

    if not isinstance(loader.tempfile, Rooms):
        loader.tempfile = Rooms()


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
