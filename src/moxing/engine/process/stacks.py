"""Tells where this process's threads are in Python code of the input."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Iterator

from moxing.engine.graph import blame

_CALLS = "ops/script_ops.py"  # Generators and py_funcs are called from this file of TensorFlow's.
_LONGEST_LINE = 100


def of_input() -> list[str]:
    """Returns where sessions run Python code now, as `train.py:12, in read: x = queue.get()`."""
    places = (_place(frame) for frame in sys._current_frames().values())
    return sorted({place for place in places if place})


def in_input() -> bool:
    """Whether a thread is in Python code that a session calls, or in TensorFlow's around it."""
    return any(
        frame.f_code.co_filename.endswith(_CALLS)
        for innermost in sys._current_frames().values()
        for frame in _outward(innermost)
    )


def _place(innermost: types.FrameType) -> str:
    """Returns the user's line that a thread runs in Python code called by a session; else empty."""
    called: list[types.FrameType] = []
    for frame in _outward(innermost):
        if frame.f_code.co_filename.endswith(_CALLS):
            break
        called.append(frame)
    else:
        return ""
    own = [frame for frame in called if blame.is_of_user(frame.f_code.co_filename)]
    if not called:
        return ""
    frame = (own or called)[0]
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line).strip()
    text = text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."
    return f"{code.co_filename}:{line}, in {code.co_name}" + (f": {text}" if text else "")


def _outward(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
