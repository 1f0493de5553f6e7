"""Sets the root logger's console handler, with the line format that old scripts' users grep.

Under `mox run` there is exactly one handler, as programs of these systems expect. In other
programs, logging belongs to the program: openmox adds a handler only if nothing else has set
logging up.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from moxing.errors import on_lines

FORMAT = "%(levelname)s:%(name)s:%(message)s"
TENSORFLOW = logging.getLogger("tensorflow")
# Holds "taken" if openmox controls logging, and "used" if moxing is used in this process.
_events: set[str] = set()
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _StderrHandler(logging.StreamHandler):
    """Writes to the current `sys.stderr`, so that the live line can put itself in between.

    In lines that openmox logs, control codes for the terminal from file names and other text from
    outside are escaped. Lines that the program logs stay as they are: the program may color them.
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(FORMAT))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        del value

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return on_lines(text) if _is_own() else text


def _is_own() -> bool:
    """Whether openmox logs the line that is being formatted.

    TensorFlow's logger notes in a record the caller of the function that logs, not that function.
    """
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == logging.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_PACKAGE)


def reset_logger() -> None:
    """Leaves exactly one console handler, on the root logger.

    Old scripts pop `logging.getLogger().handlers[0]`, so there must be a handler; TensorFlow's own
    handler beside it would print each line twice. Handlers that write elsewhere, such as to a log
    file of the user, stay. The root logger passes records from INFO on, or from WARNING on with
    `MOX_SILENT_MODE=1`. Warnings that parts of TensorFlow are deprecated are dropped: a program
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
    """From now on openmox controls logging, once moxing is used; called by `mox run`."""
    _happened("taken")


def use() -> None:
    """Records that moxing is used; if openmox controls logging, sets it up."""
    _happened("used")


def _happened(event: str) -> None:
    if event not in _events:
        _events.add(event)
        if _events == {"taken", "used"}:
            reset_logger()


def show_infos() -> None:
    """Shows TensorFlow's log lines from INFO on, as `tf.app.run` of TensorFlow 1.15 does.

    A level that the program has set stays, and MOX_SILENT_MODE=1 shows warnings and errors alone.
    """
    if TENSORFLOW.level == logging.NOTSET and os.environ.get("MOX_SILENT_MODE") != "1":
        TENSORFLOW.setLevel(logging.INFO)


def warn(message: str, *values: object) -> None:
    """Logs a warning by the root logger, in openmox's format if logging is not set up yet."""
    root = logging.getLogger()
    if root.handlers:
        root.warning(message, *values)
        return
    record = root.makeRecord("root", logging.WARNING, __file__, 0, message, values, None)
    _StderrHandler().handle(record)


def of_command() -> None:
    """Shows the warnings of a command, if nothing else shows log lines, with codes escaped.

    TensorFlow's own handler, and Python's last resort, print names of files raw.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_StderrHandler())


def settle() -> None:
    """Makes sure, before a run starts, that its log lines will be shown.

    A root logger without handlers, or with absl's, gets openmox's. Other handlers stay, and so does
    the level of the root logger. Only TensorFlow's logger, which the lines use, is set to INFO,
    unless the program has set its level.
    """
    handlers = logging.getLogger().handlers
    if _events == {"taken", "used"}:
        # A handler that an old script has removed stays removed.
        if any(_is_absl(handler) for handler in handlers):
            reset_logger()
        return
    if all(_is_absl(handler) for handler in handlers):
        level = TENSORFLOW.level  # Zero if the program has set no level.
        reset_logger()
        TENSORFLOW.setLevel(level or TENSORFLOW.level)
    if any(isinstance(handler, _StderrHandler) for handler in handlers):
        return
    TENSORFLOW.handlers[:] = [h for h in TENSORFLOW.handlers if not _writes_to_console(h)]
    if TENSORFLOW.level == logging.NOTSET:
        TENSORFLOW.setLevel(logging.INFO)
    if _is_worth_reading not in TENSORFLOW.filters:
        TENSORFLOW.addFilter(_is_worth_reading)


def console_handlers() -> list[logging.Handler]:
    """Returns the handlers that show TensorFlow's log lines on this process's console."""
    handlers = [*logging.getLogger().handlers, *TENSORFLOW.handlers]
    return [handler for handler in handlers if _writes_to_console(handler)]


def _is_absl(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("absl.")


def _writes_to_console(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    if _is_absl(handler):
        return True
    return stream in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__) and stream is not None


def _is_worth_reading(record: logging.LogRecord) -> bool:
    return "Instructions for updating:" not in str(record.msg)
