"""Keeps one line at the bottom of a terminal while other output scrolls by above it.

Text that is written to `sys.stderr` and `sys.stdout` meanwhile reaches the terminal byte for byte.
The cursor rests at the start of the line, so that output that bypasses Python, such as TensorFlow's
C++ log, overwrites the line and is not overwritten by it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

_ERASE = "\r\x1b[J"  # To the start of the row; clear to the end of the screen.
_NARROWEST = 10


class BottomLine:
    """The line, from `start` to `stop`. If it fails, only the line is lost.

    Attributes:
        alive: whether there is a line to draw.
    """

    def __init__(self, render: Callable[[int], str]) -> None:
        """Leaves the standard streams alone until `start`.

        Args:
            render: given the number of columns, returns a line of at most that width, without a
                newline; colors are escape codes.
        """
        self.alive = False
        self._render = render
        self._lock = threading.RLock()
        self._terminal = sys.stderr
        self._replaced: list[tuple[str, Any, Above]] = []
        self._process = 0
        self._shown = False
        self._unfinished = False  # Whether the last output ended within a line.
        self._text: tuple[int, str] = (0, "")

    def start(self) -> None:
        """Puts the line between the standard streams and the terminal, and draws it."""
        self._terminal = sys.stderr
        self._process = os.getpid()
        self.alive = True
        for name in ("stderr", "stdout"):
            stream = getattr(sys, name)
            if _is_terminal(stream):
                above = Above(stream, self)
                self._replaced.append((name, stream, above))
                setattr(sys, name, above)
        self.draw()

    def stop(self) -> None:
        """Removes the line and gives the streams back."""
        with self._lock:
            self._safely(self._erase)
            self.alive = False
            for name, stream, above in self._replaced:
                if getattr(sys, name) is above:  # Otherwise other code has replaced it since.
                    setattr(sys, name, stream)
            self._replaced.clear()

    def draw(self) -> None:
        """Renders the line and shows it in place of the previous one."""
        with self._lock:
            self._text = (0, "")
            self._safely(self._show)

    def write_above(self, stream: Any, text: str) -> int:
        """Writes to a stream of this terminal, above the line."""
        if not self.alive:
            return stream.write(text)
        # A forked child shares the terminal, but not the thread that may hold the lock.
        forked = os.getpid() != self._process
        with contextlib.nullcontext() if forked else self._lock:
            self._shown |= forked  # The parent may have drawn the line.
            if not self._unfinished:
                self._safely(self._erase)
            written = stream.write(text)
            stream.flush()
            self._unfinished = not text.endswith("\n") if text else self._unfinished
            if not forked:
                self._safely(self._show)
        return written

    def _safely(self, change: Callable[[], None]) -> None:
        if self.alive:
            try:
                change()
            except BlockingIOError:
                pass  # The terminal is slow; the next drawing will do.
            except Exception:
                self.alive = False
                with contextlib.suppress(Exception):
                    self._erase()

    def _erase(self) -> None:
        if self._shown:
            self._send(_ERASE)
            self._shown = False

    def _show(self) -> None:
        columns = os.get_terminal_size(self._terminal.fileno()).columns or 80
        if self._unfinished or columns < _NARROWEST or not self._in_foreground():
            return
        if self._text[0] != columns:
            # The last column stays free: a character there makes some terminals wrap.
            self._text = (columns, self._render(columns - 1))
        self._send(f"{_ERASE}{self._text[1]}\r")
        self._shown = True

    def _send(self, text: str) -> None:
        # Python's buffer is bypassed: a forked child could find its lock taken by the drawing
        # thread.
        encoding = getattr(self._terminal, "encoding", None) or "utf-8"
        os.write(self._terminal.fileno(), text.encode(encoding, "replace"))

    def _in_foreground(self) -> bool:
        """Whether this process is in the foreground of its shell."""
        with contextlib.suppress(OSError):  # The terminal has no job control.
            return os.tcgetpgrp(self._terminal.fileno()) == os.getpgrp()
        return True


class Above:
    """A stream of the terminal whose output goes above the line; else it behaves as the stream."""

    def __init__(self, stream: Any, line: BottomLine) -> None:
        self._stream = stream
        self._line = line

    def write(self, text: str) -> int:
        return self._line.write_above(self._stream, text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_terminal(stream: Any) -> bool:
    """Whether a standard stream, which may be an object of the program's with few methods, is."""
    if stream is None or getattr(stream, "closed", False):
        return False
    asked = getattr(stream, "isatty", None)
    return bool(callable(asked) and asked())
