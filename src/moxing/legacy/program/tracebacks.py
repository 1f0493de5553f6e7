"""Trims tracebacks to the user's own code, without the launcher's frames."""

from __future__ import annotations

import importlib
import linecache
import os
import types
from collections.abc import Callable
from dataclasses import dataclass

from moxing.framework.folding import chain, entries, joined

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_IMPORTER = os.path.join(_OURS, "face", "importer.py")
_LONGEST = 160


def cut(line: str) -> str:
    """Returns a line of source, shortened to at most 160 characters."""
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


@dataclass(frozen=True)
class Line:
    """A line of source that was running when an error occurred."""

    file: str
    number: int

    def __str__(self) -> str:
        source = cut(linecache.getline(self.file, self.number).strip())
        return f"{self.file}:{self.number}" + (f": {source}" if source else "")


def innermost(error: BaseException, owns: Callable[[str], bool]) -> Line | None:
    """Returns the innermost line of the user's files in the traceback; None: there is none."""
    lines = [
        Line(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        for trace in entries(error.__traceback__)
        if owns(trace.tb_frame.f_code.co_filename)
    ]
    return lines[-1] if lines else None


def came_from(error: BaseException, owns: Callable[[str], bool]) -> bool:
    """Whether the user's own code, not a library, raised the error."""
    files = [trace.tb_frame.f_code.co_filename for trace in entries(error.__traceback__)]
    files = [file for file in files if not file.startswith(_OURS)]
    return bool(files) and owns(files[-1])


def trim(error: BaseException, script: str) -> None:
    """Removes the launcher's frames from the tracebacks of an error and of its causes."""
    for current in chain(error):
        found = list(entries(current.__traceback__))
        if isinstance(current, ImportError):
            found = _without_forwarding(found)
        current.__traceback__ = _trimmed(found, script)


def _without_forwarding(found: list[types.TracebackType]) -> list[types.TracebackType]:
    """Returns the frames without those in which a face imports a module that isn't there.

    Python leaves the frames of its own importer out of such an error.
    """
    files = [entry.tb_frame.f_code.co_filename for entry in found]
    end = len(files)
    while end and (files[end - 1] == importlib.__file__ or files[end - 1].startswith("<frozen im")):
        end -= 1
    if end == len(files) or not files[end - 1].startswith(_OURS):
        return found
    while end and files[end - 1].startswith(_OURS):
        end -= 1
    return found[:end] or found


def _trimmed(found: list[types.TracebackType], script: str) -> types.TracebackType | None:
    files = [entry.tb_frame.f_code.co_filename for entry in found]
    if script in files:
        found = found[files.index(script) :]
    kept = [
        entry
        for place, entry in enumerate(found)
        if not _hidden(entry.tb_frame.f_code.co_filename, last=place == len(found) - 1)
    ]
    return joined(kept)


def _hidden(file: str, last: bool) -> bool:
    # Show the frame that raised the error, unless it only forwards an import.
    return file == _IMPORTER or (file.startswith(_OURS) and not last)
