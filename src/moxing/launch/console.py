"""Prints a launcher's lines on the console, and goes on without it: a job outlives its reader."""

from __future__ import annotations

import contextlib
import os
from typing import TextIO


def put(stream: TextIO, line: str) -> None:
    """Writes a line at once, without buffering.

    If the line can't be written (the reader of a pipe has gone, the disk is full), nothing more is
    written to that stream, and no error is raised.
    """
    try:
        stream.flush()
        # Bytes, as the console's encoding may not have every character.
        stream.buffer.write(line.encode(errors="backslashreplace") + b"\n")
        stream.flush()
    except OSError:
        _let_go(stream)


def _let_go(stream: TextIO) -> None:
    # The rest of the stream's buffer must go somewhere, or Python fails when it exits.
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
