"""Tells the user why a program ended: in one sentence if that is enough, else by a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable

from moxing import leaving
from moxing.errors import MoxError
from moxing.framework import folding, stack_texts
from moxing.legacy.program import lost_peers, session_errors, tracebacks
from moxing.legacy.program.hints import hints
from moxing.legacy.python2 import advice, parentheses

FAILED, INTERRUPTED = 1, 130
_COMMANDS = os.path.dirname(sys.executable) + os.sep
_CONVERTED = "__autograph_generated_file"  # A part of the names of files that AutoGraph writes.


def report(error: BaseException, script: str, owns: Callable[[str], bool]) -> int:
    """Prints the error that ended the program.

    Args:
        error: any exception but SystemExit.
        script: absolute path of the main program.
        owns: whether a source file is the user's own.

    Returns:
        The exit code.
    """
    # Exit handlers find the error here, as under plain Python.
    sys.last_value = error
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    error = lost_peers.told(error)
    owns = functools.partial(_wrote, owns)
    tracebacks.trim(error, script)
    users = tracebacks.came_from(error, owns)
    sentence = _sentence(error, users, owns)
    if sentence and os.environ.get("MOX_DEBUG") != "1":
        line = tracebacks.innermost(error, owns)
        say(f"error: {sentence}" + (f"\n  at {line}" if line else ""))
        return getattr(error, "exit_code", FAILED)
    for hint in hints(error, os.path.dirname(script), users):
        error.add_note(hint)
    if said := session_errors.note(error):
        error.add_note(said)
    if os.environ.get("MOX_DEBUG") != "1":
        _fold(error, owns)
    _show(error)
    return getattr(error, "exit_code", FAILED)


def _wrote(owns: Callable[[str], bool], file: str) -> bool:
    """Whether the user wrote a source file: `mox` itself and the copies of AutoGraph are none."""
    return owns(file) and _CONVERTED not in file and not file.startswith(_COMMANDS)


def _fold(error: BaseException, owns: Callable[[str], bool]) -> None:
    """Leaves the user's frames, and puts the user's line in front of the error's other notes."""
    in_step = hasattr(error, "node_def")
    folded = folding.fold(error, owns) + stack_texts.shorten(error, owns)
    if not folded:
        return
    notes = list(getattr(error, "__notes__", ()))
    frames = "1 line" if folded == 1 else f"{folded} lines"
    said = f"({frames} of openmox, TensorFlow and Keras left out; MOX_DEBUG=1 shows all)"
    line = tracebacks.innermost(error, owns)
    # An operation that fails in a step does so far from the line that made it, which a note names.
    error.__notes__ = [said, *([f"  at {line}"] if line and not in_step else []), *notes]


def _show(error: BaseException) -> None:
    """Passes the error to the program's excepthook, or to Python's if that is missing or fails."""
    hook = getattr(sys, "excepthook", None)
    if callable(hook) and hook is not sys.__excepthook__:
        try:
            hook(type(error), error, error.__traceback__)
            return
        except Exception as failure:
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(failure), failure, failure.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
    sys.__excepthook__(type(error), error, error.__traceback__)


def say(text: str) -> None:
    """Prints a line to stderr that starts with the command's name."""
    leaving.put_back_streams()
    sys.stdout.flush()
    print(f"mox: {text}", file=sys.stderr, flush=True)


def _sentence(error: BaseException, users: bool, owns: Callable[[str], bool]) -> str:
    """Returns a sentence that fully explains the error, or an empty string."""
    if isinstance(error, MoxError):
        return "\n  ".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, SyntaxError) and error.filename and owns(error.filename):
        return about_syntax(error)
    about = advice.about(error) if users else ""
    return f"{error}. {about}" if about else ""


def about_syntax(error: SyntaxError) -> str:
    """Returns a sentence about a file that Python 3 cannot read."""
    place = f"{error.filename}, line {error.lineno}" if error.lineno else str(error.filename)
    if advice.is_encoding(error):
        return (
            f"{place} cannot be read as text ({error.msg}). Name the file's encoding in its first"
            " line, as in # coding: latin-1, or save it as UTF-8."
        )
    line = tracebacks.cut((error.text or "").strip())
    code = f": {line}" if line else ""
    if surplus := parentheses.about(error):
        return f"{place}{code}: {surplus}"
    return f"{place} is not Python 3{code} ({error.msg}). {advice.about_syntax(error)}"
