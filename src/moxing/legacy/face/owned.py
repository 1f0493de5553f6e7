"""Tells the user's own source files from those of Python, of openmox and of installed libraries."""

from __future__ import annotations

import functools
import os
import sysconfig

import moxing

_LIBRARY_FOLDERS = ("site-packages", "dist-packages")


def owns(path: str) -> bool:
    """Whether a source file is one of the user's own.

    All files are the user's except those of Python, of openmox and of installed libraries.
    """
    if not path or path.startswith("<"):
        return False
    real = os.path.realpath(path)
    return not real.startswith(_foreign_folders()) and not any(
        f"{os.sep}{folder}{os.sep}" in real for folder in _LIBRARY_FOLDERS
    )


@functools.cache
def _foreign_folders() -> tuple[str, ...]:
    """Folders whose Python files are never the user's, even below the script's folder."""
    folders = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders.append(os.path.dirname(moxing.__file__))
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)
