"""`FLAGS.__flags`: all flags by name, as a program's version of TensorFlow had them.

The flags are also an item of the attributes: `FLAGS.__dict__["__flags"]`.

TensorFlow before 1.5 had the values there; since then absl has its flag objects there, from which
programs read `value`. The text after the access shows which of the two a program means.
"""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any

_OF_OBJECTS = re.compile(r"\.(_?value|default|present|serialize|boolean)\b")

_KEY = re.compile(r"""["']__flags["']""")


def asked_for_objects(frame: types.FrameType) -> bool:
    """Whether the program reads flag objects where it has just read `__flags`.

    Args:
        frame: the frame that reads `__flags`.
    """
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    return any(_OF_OBJECTS.search(line) for line in _behind(lines[frame.f_lineno - 1 :]))


def named(frame: types.FrameType) -> bool:
    """Whether the line that a frame is at names `__flags` as a key."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)
    return _KEY.search(line) is not None


def _behind(lines: list[str]) -> Iterator[str]:
    """The block of a `for` line, or the rest of the block that another line stands in."""
    if not lines:
        return
    first = lines[0]
    inside = _indent(first) + first.lstrip().startswith("for ")
    yield first
    for line in lines[1:]:
        if line.strip() and _indent(line) < inside:
            return
        yield line


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


class Values(dict[str, Any]):
    """The values of flags by name; an item that is assigned sets the flag.

    Args:
        flags: the flags.
        values: the values now.
    """

    def __init__(self, flags: Any, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._set = flags.__setattr__

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._set(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)
