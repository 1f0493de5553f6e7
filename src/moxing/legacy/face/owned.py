"""Tells the user's own source files from those of Python, of openmox and of installed libraries."""

from __future__ import annotations

import functools
import os

from moxing.errors import library_folders

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
    return tuple(os.path.realpath(folder) + os.sep for folder in library_folders())
