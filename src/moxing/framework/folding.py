"""Folds tracebacks: leaves out the frames of openmox, TensorFlow and Keras below the user's."""

from __future__ import annotations

import os
import sysconfig
import types
from collections.abc import Callable, Iterator

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
# TensorFlow's making of operations goes through these files; Keras drops TensorFlow's own frames.
_HOOKS = os.path.join(_PACKAGE, "engine", "graph", "rewrites") + os.sep
# Frames of these packages say nothing about a mistake in a program that calls the packages.
_FOLDED = tuple(
    os.path.join(folder, name) + os.sep
    for folder in dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    for name in (
        "tensorflow",
        "keras",
        "tf_keras",
        "tf_slim",
        "tensorflow_estimator",
        "absl",
        "IPython",
    )
)


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
    folded = _without_foreign_causes(error, owns)
    for current in chain(error):
        found = list(entries(current.__traceback__))
        files = [entry.tb_frame.f_code.co_filename for entry in found]
        if not any(map(owns, files)) or _ends_in_openmox(files, owns):
            continue
        kept = [e for e, file in zip(found, files, strict=True) if owns(file) or not _folds(file)]
        folded += len(found) - len(kept)
        current.__traceback__ = joined(kept)
    return folded


def _without_foreign_causes(error: BaseException, owns: Callable[[str], bool]) -> int:
    """Leaves out causes in which no line of the user's had a part; returns their frames' number.

    The words of such a cause stay, as a note, where the words of the error do not contain them.
    """
    if not _reaches(error, owns):
        return 0
    folded = 0
    for current in list(chain(error)):
        for name in ("__cause__", "__context__"):
            cause = getattr(current, name)
            if cause is None or any(not _is_foreign(one, owns) for one in chain(cause)):
                continue
            folded += sum(1 for one in chain(cause) for _ in entries(one.__traceback__))
            words = str(cause).partition("\n")[0]
            if words and name == "__cause__" and words not in str(current):
                current.add_note(f"Cause: {type(cause).__name__}: {words}")
            setattr(current, name, None)
    return folded


def _reaches(error: BaseException, owns: Callable[[str], bool]) -> bool:
    return any(owns(entry.tb_frame.f_code.co_filename) for entry in entries(error.__traceback__))


def _is_foreign(error: BaseException, owns: Callable[[str], bool]) -> bool:
    """Whether an error has frames, and all of them are frames that are folded."""
    files = [entry.tb_frame.f_code.co_filename for entry in entries(error.__traceback__)]
    return bool(files) and all(_folds(file) and not owns(file) for file in files)


def _ends_in_openmox(files: list[str], owns: Callable[[str], bool]) -> bool:
    """Whether openmox raised the error, and not TensorFlow or Keras through a hook of openmox.

    TensorFlow drops its own frames below such a hook, so that the hook seems to be the end.
    """
    last = max(number for number, file in enumerate(files) if owns(file))
    called = files[last + 1 :]
    if files[-1].startswith(_HOOKS):
        return False
    return files[-1].startswith(_PACKAGE) and not any(file.startswith(_FOLDED) for file in called)


def _folds(file: str) -> bool:
    return file.startswith((_PACKAGE, *_FOLDED)) or "__autograph_generated_file" in file


def joined(frames: list[types.TracebackType]) -> types.TracebackType | None:
    """A traceback of these entries alone; None: there are none."""
    result = None
    for entry in reversed(frames):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def chain(error: BaseException) -> Iterator[BaseException]:
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


def entries(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """The entries of a traceback, the outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next
