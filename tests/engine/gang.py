"""Any number of programs at a time, whose ends a test hears of by their process ids."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import warm


class Nursery:
    """Starts programs and hears of their ends.

    Attributes:
        ends: of each process that has ended, its exit code or minus the signal that killed it, and
            when, as `time.time()` has it.
    """

    def __init__(self) -> None:
        self._running: dict[int, warm.Popen] = {}
        self.ends: dict[int, tuple[int, float]] = {}

    def start(self, program: Path, output: Path, *arguments: str) -> int:
        """Starts a program whose standard streams go to the file `output`; its process id."""
        command = [sys.executable, program, *arguments]
        with open(output, "ab") as stream:
            process = warm.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        self.ends.pop(process.pid, None)
        self._running[process.pid] = process
        return process.pid

    def listen(self, seconds: float) -> None:
        """Takes what has happened, and waits so long for something to happen."""
        warm.listen(seconds)
        for pid, process in list(self._running.items()):
            code = process.poll()
            if code is not None:
                assert process.ended is not None
                self.ends[pid] = code, process.ended
                del self._running[pid]

    def close(self) -> None:
        for pid, process in self._running.items():
            if process.poll() is None:
                os.kill(pid, signal.SIGKILL)
                process.wait(240)
