"""Every error that a user of openmox can cause; a launcher can print it without a traceback.

Each class is also the built-in exception that Python users expect (`ValueError`, `TypeError`, ...).
A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
import reprlib
import sysconfig
import traceback
from collections.abc import Iterable
from typing import Any


class MoxError(Exception):
    """Base class: the message is complete and addressed to the user.

    Control codes for the terminal, which file names and other text from outside may contain, are
    escaped in the message; line ends and tabs are not, but no further line begins as a log's.
    """

    def __str__(self) -> str:
        # KeyError's own __str__ would print the repr of the message.
        text = str(self.args[0]) if self.args else ""
        return on_lines(text)

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that IPython shows: frames of the program's own code, and the message.

        With MOX_DEBUG=1 in the environment the frames of all libraries are among them.
        """
        frames = traceback.extract_tb(self.__traceback__)
        if os.environ.get("MOX_DEBUG") != "1":
            frames = [frame for frame in frames if not frame.filename.startswith(library_folders())]
        notes = getattr(self, "__notes__", ())
        return [*traceback.format_list(frames), f"{type(self).__name__}: {self}", *notes]


@functools.cache
def library_folders() -> tuple[str, ...]:
    """The folders of openmox, of Python and of installed libraries, each with a `/` at its end."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = dict.fromkeys([os.path.dirname(__file__), *map(sysconfig.get_path, kinds)])
    return tuple(folder + os.sep for folder in folders)


class MoxValueError(MoxError, ValueError):
    """A value that no run could use."""


class MoxTypeError(MoxError, TypeError):
    """A value of a type that no run could use."""


class MoxKeyError(MoxError, KeyError):
    """A name that is not among the known names."""


class MoxAttributeError(MoxError, AttributeError):
    """A name that a module of openmox does not have."""


class MoxImportError(MoxError, ImportError):
    """A module that is not available here."""


class MoxRuntimeError(MoxError, RuntimeError):
    """A failure at run time that the user can repair."""


class MoxNotSupportedError(MoxError, NotImplementedError):
    """A part of the documented API that this version does not support yet."""


class CheckpointError(MoxError, ValueError):
    """A checkpoint that is missing, torn, or does not fit the model."""


class ExportExistsError(MoxError, AssertionError):
    """The export directory exists already."""


def near_matches(name: str, legal: Iterable[str]) -> str:
    """Returns `" Did you mean 'a' or 'b'?"`, or an empty string if no name is similar."""
    close = difflib.get_close_matches(name, list(legal), n=3, cutoff=0.6)
    if not close:
        return ""
    return " Did you mean " + " or ".join(repr(item) for item in close) + "?"


def near_files(path: str) -> str:
    """Returns `" Did you mean 'train.py'?"`, with names beside a file that is not there."""
    folder, name = os.path.split(path)
    try:
        beside = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except (OSError, ValueError):
        return ""
    stem, kind = os.path.splitext(name)
    stems = [other[: -len(kind)] for other in beside if kind and other.endswith(kind)]
    close = difflib.get_close_matches(stem, stems, n=1, cutoff=0.6)
    return f" Did you mean {close[0] + kind!r}?" if close else ""


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    """Returns text from outside as one line, without control codes for the terminal."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


# The beginnings of lines that openmox, its launcher and programs' loggers print.
_OWN_LINE = re.compile(
    r"\n(?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL):|mox\b|\[(?:worker|ps) \d+\])"
)


def on_lines(text: str) -> str:
    """Returns a message without control codes for the terminal, but for line ends and tabs.

    A further line that begins as lines of a log do is moved to the right: a name with a line end in
    it, such as of a file, must not look like a message of its own.
    """
    plain = re.sub(r"[^\t\n]+", lambda found: escaped(found[0]), text)
    return _OWN_LINE.sub("\n  ", plain)


_LONGEST = 160
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _LONGEST
_SHORT.maxlong = 40


def shown(value: Any, plain: bool = False) -> str:
    """Words a value for a message: one short line, whatever the value is.

    Args:
        value: anything that a user passed.
        plain: whether to show text without quotes, as on a command line.
    """
    if plain and isinstance(value, str) and len(value) <= _LONGEST and value.isprintable():
        return value
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        text = _SHORT.repr(value)
    except Exception:  # The value is an int of thousands of digits, or its __repr__ fails.
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"<{type(value).__name__}{bits}>"
    return " ".join(line.strip() for line in text.splitlines())
