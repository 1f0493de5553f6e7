"""Starts any number of processes at a time, each forked from one that has imported TensorFlow.

As a script it is that one: each line of its input asks for a process. As a module it is the other
end, so that a test pays for forks and not for imports.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import select
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

_SECONDS = 120.0  # The longest that anything here waits.


class Nursery:
    """Starts programs and hears of their ends.

    Attributes:
        ends: of each process that has ended, its exit code or minus the signal that killed it, and
            when, as `time.time()` has it.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._rest = b""
        self._started: list[int] = []
        self.ends: dict[int, tuple[int, float]] = {}

    def start(self, program: Path, output: Path, *arguments: str) -> int:
        """Starts a program whose standard streams go to the file `output`; its process id."""
        request = {"program": str(program), "output": str(output), "arguments": arguments}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        until = time.monotonic() + _SECONDS
        while not self._started:
            assert time.monotonic() < until, "no process is started"
            self.listen(0.5)
        return self._started.pop()

    def listen(self, seconds: float) -> None:
        """Takes what has happened, and waits so long for something to happen."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return
        data = self._process.stdout.read(1 << 16)
        assert data, "the process that forks is gone"
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "started" in told:
                self._started.append(told["started"])
            else:
                self.ends[told["ended"]] = (told["code"], told["time"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=_SECONDS)


def _serve() -> None:
    """Forks for each request; tells process ids, and exit codes when they are there."""
    import tensorflow.compat.v1 as tf

    import moxing.engine.run.execution
    import moxing.tensorflow.datasets  # What programs load when they first use it.

    assert tf is not None
    assert moxing is not None
    gc.freeze()  # Or each process would copy all of it when it ends.
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    rest = b""
    while True:
        ready = select.select([0, ear], [], [])[0]
        if ear in ready:
            os.read(ear, 1 << 10)
            _tell_ends()
        if 0 in ready:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    os.close(ear)
                    os.close(mouth)
                    _become(json.loads(line))
                _tell(started=pid)


def _tell_ends() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell(ended=pid, code=os.waitstatus_to_exitcode(status), time=time.time())


def _tell(**what: Any) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _become(request: dict[str, Any]) -> None:
    """Runs a program in this process, as `python program.py` would, and ends as that does."""
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    faulthandler.enable()
    path = request["program"]
    sys.argv = [path, *request["arguments"]]
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    raise _Become(path, main)


class _Become(BaseException):
    """Leaves the server's frames, so that the program's end is the end of the interpreter."""

    def __init__(self, path: str, main: types.ModuleType) -> None:
        self.path, self.main = path, main


if __name__ == "__main__":
    try:
        _serve()
    except _Become as _born:
        _path, _main = _born.path, _born.main
    else:
        sys.exit(0)
    with open(_path, "rb") as _file:
        _code = compile(_file.read(), _path, "exec")
    exec(_code, _main.__dict__)
