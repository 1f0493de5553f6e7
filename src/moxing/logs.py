"""One console handler on the root logger, with the line format that users of these systems grep."""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

FORMAT = "%(levelname)s:%(name)s:%(message)s"
TENSORFLOW = logging.getLogger("tensorflow")


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


def replace_absl_handler() -> None:
    """Takes the console back from absl, whose `app.run` puts a handler of its own there."""
    if any(_is_absl(handler) for handler in logging.getLogger().handlers):
        reset_logger()


def _is_absl(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("absl.")


def _writes_to_console(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    if _is_absl(handler):
        return True
    return stream in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__) and stream is not None


def _is_worth_reading(record: logging.LogRecord) -> bool:
    return "Instructions for updating:" not in str(record.msg)
