"""Runs programs in processes forked from one that has imported TensorFlow already.

As a script it is that one: each line of its input asks for a process. As a module it is the other
end, so that a test pays for the fork and not for the import.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SECONDS = 120.0  # The longest that anything here waits.


class Zygote:
    """Starts programs, one at a time; the one before is killed if it still runs."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._running: Child | None = None

    def start(self, source: str, output: Path, *arguments: object) -> Child:
        """Starts a program whose standard streams go to the file `output`."""
        self._end()
        output.touch()
        request = {"source": source, "output": str(output), "arguments": [*map(str, arguments)]}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._running = Child(self, int(self.hear("started")), output)
        return self._running

    def close(self) -> None:
        assert self._process.stdin is not None
        self._end()
        self._process.stdin.close()
        self._process.wait(timeout=_SECONDS)

    def hear(self, what: str) -> str:
        """The rest of the next line, which must begin with a word."""
        assert self._process.stdout is not None
        line, until = b"", time.monotonic() + _SECONDS
        while not line.endswith(b"\n"):
            left = max(0.0, until - time.monotonic())
            assert select.select([self._process.stdout], [], [], left)[0], "it takes too long"
            byte = self._process.stdout.read(1)
            assert byte, "it is gone"
            line += byte
        word, rest = line.decode().split()
        assert word == what
        return rest

    def _end(self) -> None:
        if self._running is not None and not self._running.ended:
            self._running.send(signal.SIGKILL)
            self._running.code()


class Child:
    """A program that was started."""

    def __init__(self, zygote: Zygote, pid: int, output: Path) -> None:
        self._zygote, self.pid, self._output = zygote, pid, output
        self.ended = False

    @property
    def text(self) -> str:
        """What it has written."""
        return self._output.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Waits until it has written `text`."""
        until = time.monotonic() + _SECONDS
        while text not in self.text:
            assert time.monotonic() < until, self.text
            time.sleep(0.005)

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def code(self) -> int:
        """Waits for the end: the exit code, or minus the signal that killed it."""
        code = int(self._zygote.hear("ended"))
        self.ended = True
        return code


def _serve() -> None:
    """Forks for each request, tells the process id and, at the end, the exit code."""
    import tensorflow.compat.v1 as tf

    import moxing.engine.run.execution

    assert tf is not None
    assert moxing.engine.run.execution is not None
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(request)
            return
        print("started", pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)


def _become(request: dict[str, Any]) -> None:
    """Gives this process the streams and arguments of the program; the caller returns into it."""
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["program.py", *request["arguments"]]
    _program.append(request["source"])


_program: list[str] = []

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _serve()
    for source in _program:
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
