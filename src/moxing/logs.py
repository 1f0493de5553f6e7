"""The console handler on the root logger, with the line format that users of these systems grep.

Under `mox run` there is exactly one, as programs of these systems expect. In a program of somebody
else's, logging is that program's: there is one only where nobody else has set logging up.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

FORMAT = "%(levelname)s:%(name)s:%(message)s"
TENSORFLOW = logging.getLogger("tensorflow")
# Whether logging is ours, "taken", and moxing "used": a process has one set of handlers.
_events: set[str] = set()


class _StderrHandler(logging.StreamHandler):
    """Writes to the `sys.stderr` of the moment, so that a live console can stand in between."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(FORMAT))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        del value


def reset_logger() -> None:
    """Leaves exactly one console handler, on the root logger.

    Old scripts pop `logging.getLogger().handlers[0]`, so there must be one; TensorFlow's own
    handler beside it would print each line twice. Handlers that write elsewhere, such as a log file
    of the user's, stay. The root logger lets pass what is INFO or more, or with `MOX_SILENT_MODE=1`
    what is WARNING or more. Warnings that parts of TensorFlow are deprecated are dropped: a program
    written for these parts can't act on them.
    """
    root = logging.getLogger()
    others = [handler for handler in root.handlers if not _writes_to_console(handler)]
    root.handlers[:] = [_StderrHandler(), *others]
    level = logging.WARNING if os.environ.get("MOX_SILENT_MODE") == "1" else logging.INFO
    root.setLevel(level)
    TENSORFLOW.handlers[:] = [h for h in TENSORFLOW.handlers if not _writes_to_console(h)]
    TENSORFLOW.setLevel(level)
    TENSORFLOW.propagate = True
    if _is_worth_reading not in TENSORFLOW.filters:
        TENSORFLOW.addFilter(_is_worth_reading)


def take_over() -> None:
    """From now on logging is ours in this process, which `mox run` started, if moxing is used."""
    _happened("taken")


def use() -> None:
    """From now on moxing is used; where logging is ours, it is set up as its programs knew it."""
    _happened("used")


def _happened(event: str) -> None:
    if event not in _events:
        _events.add(event)
        if _events == {"taken", "used"}:
            reset_logger()


def warn(message: str, *values: object) -> None:
    """A warning of the root logger, in our format where nobody has set logging up yet."""
    root = logging.getLogger()
    if root.handlers:
        root.warning(message, *values)
        return
    record = root.makeRecord("root", logging.WARNING, "", 0, message, values, None)
    _StderrHandler().handle(record)


def settle() -> None:
    """Sees to it that a run's lines are seen, before it starts.

    A root logger without handlers, or with absl's, gets ours. Other handlers stay, and so does the
    level of the root logger: TensorFlow's logger alone, by which the lines go, lets pass what is
    INFO or more, unless the program has set its level.
    """
    handlers = logging.getLogger().handlers
    if _events == {"taken", "used"}:
        # A handler that an old script has taken away stays away.
        if any(_is_absl(handler) for handler in handlers):
            reset_logger()
        return
    if all(_is_absl(handler) for handler in handlers):
        level = TENSORFLOW.level  # Zero where the program has set none.
        reset_logger()
        TENSORFLOW.setLevel(level or TENSORFLOW.level)
    if any(isinstance(handler, _StderrHandler) for handler in handlers):
        return
    TENSORFLOW.handlers[:] = [h for h in TENSORFLOW.handlers if not _writes_to_console(h)]
    if TENSORFLOW.level == logging.NOTSET:
        TENSORFLOW.setLevel(logging.INFO)
    if _is_worth_reading not in TENSORFLOW.filters:
        TENSORFLOW.addFilter(_is_worth_reading)


def _is_absl(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("absl.")


def _writes_to_console(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    if _is_absl(handler):
        return True
    return stream in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__) and stream is not None


def _is_worth_reading(record: logging.LogRecord) -> bool:
    return "Instructions for updating:" not in str(record.msg)
