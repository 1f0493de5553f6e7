"""One root log handler, with the line format that users of these systems grep for."""

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
    """Leaves exactly one handler on the root logger and none on TensorFlow's.

    Old scripts pop `logging.getLogger().handlers[0]`, so there must be one; TensorFlow's own
    handler beside it would print each line twice. The root logger prints from INFO on, or from
    WARNING on where `MOX_SILENT_MODE=1`.
    """
    root = logging.getLogger()
    root.handlers[:] = [_StderrHandler()]
    level = logging.WARNING if os.environ.get("MOX_SILENT_MODE") == "1" else logging.INFO
    root.setLevel(level)
    TENSORFLOW.handlers[:] = []
    TENSORFLOW.setLevel(level)
    TENSORFLOW.propagate = True
