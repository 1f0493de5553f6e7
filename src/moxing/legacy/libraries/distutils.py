"""The parts of `distutils` that programs use; Python 3.12 removed the module."""

from __future__ import annotations

import functools
import os
import re
import shutil
from typing import Any

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")
_PARTS = re.compile(r"(\d+ | [a-z]+ | \.)", re.VERBOSE)
_STRICT = re.compile(r"^(\d+) \. (\d+) (\. (\d+))? ([ab](\d+))?$", re.VERBOSE)


def strtobool(val: str) -> int:
    """Returns 1 for y, yes, t, true, on, 1 and 0 for n, no, f, false, off, 0.

    Raises:
        ValueError: any other text.
    """
    if val.lower() in _TRUE:
        return 1
    if val.lower() in _FALSE:
        return 0
    raise ValueError(f"invalid truth value {val.lower()!r}")


def find_executable(executable: str, path: str | None = None) -> str | None:
    """Returns the path of the file that a command runs, or None."""
    return executable if os.path.isfile(executable) else shutil.which(executable, path=path)


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Makes a folder and its parents; returns the paths of the new folders."""
    made = []
    folder = os.path.normpath(name)
    while folder and not os.path.isdir(folder):
        made.insert(0, folder)
        folder = os.path.dirname(folder)
    if made and not dry_run:
        os.makedirs(name, mode, exist_ok=True)
    return made


def copy_tree(src: str, dst: str, *args: Any, **kwargs: Any) -> list[str]:
    """Copies a folder's content into another folder, which may exist; returns the files written."""
    del args, kwargs
    written: list[str] = []

    def copy(one: str, other: str) -> str:
        written.append(other)
        return shutil.copy2(one, other)

    shutil.copytree(src, dst, copy_function=copy, dirs_exist_ok=True)
    return written


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Removes a folder and its content."""
    if not dry_run:
        shutil.rmtree(directory)


@functools.total_ordering
class LooseVersion:
    """A version of any form, compared number by number and word by word."""

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Splits the version into its parts."""
        self.vstring = vstring
        parts = [part for part in _PARTS.split(vstring) if part and part != "."]
        self.version: Any = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"

    def __eq__(self, other: object) -> bool:
        return self.version == self._other(other)

    def __lt__(self, other: object) -> bool:
        return self.version < self._other(other)

    def _other(self, other: object) -> Any:
        return (type(self)(other) if isinstance(other, str) else other).version  # type: ignore


class StrictVersion(LooseVersion):
    """A version of two or three numbers; a prerelease also has a or b and a number."""

    def parse(self, vstring: str) -> None:
        match = _STRICT.match(vstring)
        if not match:
            raise ValueError(f"invalid version number '{vstring}'")
        self.vstring = vstring
        major, minor, _, patch, before, number = match.groups()
        # A final version is later than its own alpha and beta versions.
        stage = (before[0], int(number)) if before else ("f", 0)
        self.version = ((int(major), int(minor), int(patch or 0)), stage)
