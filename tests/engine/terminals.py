"""Runs programs on a pseudo-terminal and says what a person would see there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping

_CODES = re.compile(rb"\x1b\[([0-9;]*)([A-Za-z])")


class Terminal:
    """A program running on a terminal of its own, with what it wrote so far in `output`."""

    def __init__(self, program: str, columns: int, environment: Mapping[str, str]) -> None:
        self._main, side = pty.openpty()
        self.output = b""
        self.resize(columns)
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=side,
            stdout=side,
            stderr=side,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "", **environment},
            start_new_session=True,
        )
        os.close(side)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def send(self, text: str) -> None:
        os.write(self._main, text.encode())

    def hang_up(self) -> None:
        os.close(self._main)

    def wait_for(self, text: str, seconds: float = 60.0) -> None:
        """Reads until the program has written `text`."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self.output:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not come: {self.output!r}"
            assert self._read(left), f"{text!r} did not come: {self.output!r}"

    def wait_for_line(self, text: str, narrower: int = 1000, start: int = 0) -> None:
        """Reads until a whole live line has been drawn that holds `text`, and is so narrow.

        Args:
            text: of the line.
            narrower: characters that the line has fewer than.
            start: bytes of the output to leave out.
        """
        deadline = time.monotonic() + 240
        while not any(
            text in line and len(line) < narrower for line in lines_drawn(self.output[start:])
        ):
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not come: {self.output!r}"
            assert self._read(left), f"{text!r} did not come: {self.output!r}"

    def finish(self, seconds: float = 60.0) -> int:
        """Reads until the program ends; its exit status."""
        deadline = time.monotonic() + seconds
        try:
            while self._read(deadline - time.monotonic()):
                pass
            return self.wait(deadline - time.monotonic())
        finally:
            os.close(self._main)

    def wait(self, seconds: float = 60.0) -> int:
        try:
            return self._process.wait(timeout=max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._main], [], [], max(seconds, 0.0))
        if not ready:
            return False
        try:
            piece = os.read(self._main, 65536)
        except OSError:  # The program has gone.
            return False
        self.output += piece
        return bool(piece)


def run(program: str, columns: int = 100, environment: Mapping[str, str] | None = None) -> Terminal:
    """Runs a program to its end."""
    terminal = Terminal(program, columns, environment or {})
    assert terminal.finish() == 0, terminal.output.decode()
    return terminal


def screen(output: bytes, columns: int) -> list[str]:
    """The rows that `output` leaves, scrolled-off ones too, without trailing blanks."""
    rows: list[list[str]] = [[]]
    row, column, position = 0, 0, 0
    while position < len(output):
        code = _CODES.match(output, position)
        if code:
            position = code.end()
            if code[2] == b"J":
                del rows[row][column:], rows[row + 1 :]
            else:
                assert code[2] == b"m", code[0]
            continue
        text = output[position:].decode(errors="replace")[0]
        position += len(text.encode())
        if text == "\r":
            column = 0
        elif text == "\n" or column == columns:
            row, column = row + 1, 0
            rows += [[]] * (row == len(rows))
        if text not in "\r\n":
            if text == "\t":
                text = " " * (8 - column % 8)
            line = rows[row]
            line[column:column] = " " * max(column - len(line), 0)
            line[column : column + len(text)] = text
            column += len(text)
    return ["".join(line).rstrip() for line in rows]


def lines_drawn(output: bytes) -> list[str]:
    """Every state of the live line, without its colors."""
    drawn = re.findall(rb"\r\x1b\[J([^\r\n]+)\r(?!\n)", output)
    return [_CODES.sub(b"", line).decode() for line in drawn]
