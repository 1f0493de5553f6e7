"""Programs that tests start one after another, each with its output in a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import warm

_SECONDS = 120.0  # The longest that anything here waits.


class Child(warm.Popen):
    """A program that was started."""

    def __init__(self, program: Path, output: Path, *arguments: object) -> None:
        self._output = output
        command = [sys.executable, program, *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        with open(output, "ab") as stream:
            super().__init__(command, env=environment, stdout=stream, stderr=subprocess.STDOUT)

    @property
    def text(self) -> str:
        """What it has written."""
        return self._output.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Waits until it has written `text`."""
        until = time.monotonic() + _SECONDS
        while text not in self.text:
            assert self.poll() is None or text in self.text, self.text
            assert time.monotonic() < until, self.text
            time.sleep(0.005)

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def code(self) -> int:
        """Waits for the end: the exit code, or minus the signal that killed it."""
        return self.wait(_SECONDS)


class Zygote:
    """Starts programs, one at a time; the one before is killed if it still runs."""

    def __init__(self) -> None:
        self._running: Child | None = None

    def start(self, source: str, output: Path, *arguments: object) -> Child:
        """Starts a program whose standard streams go to the file `output`."""
        self.close()
        program = output.with_name(f"{output.name}.program.py")
        program.write_text(source)
        self._running = Child(program, output, *arguments)
        return self._running

    def close(self) -> None:
        if self._running is not None and self._running.poll() is None:
            self._running.send(signal.SIGKILL)
            self._running.code()
