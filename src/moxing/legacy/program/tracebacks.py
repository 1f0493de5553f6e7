"""Trims tracebacks to the user's own code: without the launcher's frames, and folds libraries'."""

from __future__ import annotations

import linecache
import os
import sysconfig
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_IMPORTER = os.path.join(_OURS, "face", "importer.py")
_LONGEST = 160
_PACKAGE = os.path.dirname(os.path.dirname(_OURS)) + os.sep
# Frames of these packages say nothing about a mistake in a program that calls the packages.
_FOLDED = tuple(
    os.path.join(folder, name) + os.sep
    for folder in dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    for name in ("tensorflow", "keras", "tf_keras", "tf_slim", "tensorflow_estimator", "absl")
)


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
        for trace in _entries(error.__traceback__)
        if owns(trace.tb_frame.f_code.co_filename)
    ]
    return lines[-1] if lines else None


def came_from(error: BaseException, owns: Callable[[str], bool]) -> bool:
    """Whether the user's own code, not a library, raised the error."""
    files = [trace.tb_frame.f_code.co_filename for trace in _entries(error.__traceback__)]
    files = [file for file in files if not file.startswith(_OURS)]
    return bool(files) and owns(files[-1])


def trim(error: BaseException, script: str) -> None:
    """Removes the launcher's frames from the tracebacks of an error and of its causes."""
    for current in _chain(error):
        current.__traceback__ = _trimmed(current.__traceback__, script)


def fold(error: BaseException, owns: Callable[[str], bool]) -> int:
    """Removes frames of openmox, TensorFlow and Keras from the tracebacks of an error.

    A traceback without a frame of the user keeps all, and so does one that ends in openmox's own
    code, where the user's code called it: that is no mistake of the user's.

    Args:
        error: the error; its causes are folded too.
        owns: whether a source file is the user's own.

    Returns:
        The number of frames that were removed.
    """
    folded = 0
    for current in _chain(error):
        entries = list(_entries(current.__traceback__))
        files = [entry.tb_frame.f_code.co_filename for entry in entries]
        if not any(map(owns, files)) or _ends_in_openmox(files, owns):
            continue
        kept = [e for e, file in zip(entries, files, strict=True) if owns(file) or not _folds(file)]
        folded += len(entries) - len(kept)
        current.__traceback__ = _joined(kept)
    return folded


def _ends_in_openmox(files: list[str], owns: Callable[[str], bool]) -> bool:
    """Whether openmox raised the error, and not TensorFlow or Keras through a hook of openmox.

    TensorFlow drops its own frames below such a hook, so that the hook seems to be the end.
    """
    last = max(number for number, file in enumerate(files) if owns(file))
    called = files[last + 1 :]
    return files[-1].startswith(_PACKAGE) and not any(file.startswith(_FOLDED) for file in called)


def _folds(file: str) -> bool:
    return file.startswith((_PACKAGE, *_FOLDED))


def _trimmed(trace: types.TracebackType | None, script: str) -> types.TracebackType | None:
    entries = list(_entries(trace))
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    if script in files:
        entries = entries[files.index(script) :]
    kept = [
        entry
        for place, entry in enumerate(entries)
        if not _hidden(entry.tb_frame.f_code.co_filename, last=place == len(entries) - 1)
    ]
    return _joined(kept)


def _joined(entries: list[types.TracebackType]) -> types.TracebackType | None:
    result = None
    for entry in reversed(entries):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, its causes, and those during whose handling it was raised."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]


def _hidden(file: str, last: bool) -> bool:
    # Show the frame that raised the error, unless it only forwards an import.
    return file == _IMPORTER or (file.startswith(_OURS) and not last)


def _entries(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
