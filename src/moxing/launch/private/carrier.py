"""One connection of ssh to a machine, which forwards Unix sockets between that machine and here."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

from moxing.errors import MoxRuntimeError
from moxing.launch.hosts import SSH, address
from moxing.launch.lifeline import die_with
from moxing.launch.private.room import MARK, PROBE
from moxing.launch.readable import has_data
from moxing.launch.task import opened

ROOM = (sys.executable, "-m", "moxing.launch.private.room")
LOST = 255  # ssh's exit code without a connection.
_FAREWELL = 5.0
_LAST_LINES, _LAST_BYTES = 20, 1 << 14
_LONGEST_LINE = 1 << 16


class Carrier:
    """The connection to one machine, whose other end is a folder for sockets.

    Attributes:
        name: for messages.
        path: the file that keeps the output of ssh and of the other end.
        folder: the folder on that machine; "" until the other end has reported it.
        code: the exit code of ssh, as a shell counts it, and never 0; None while ssh runs.
    """

    def __init__(self, host: str, directory: Path, control: str, logs: Path) -> None:
        self.host, self.name = host, f"the connection to {host}"
        self.path = logs / f"connection-{address(host)}.log"
        self.folder = ""
        self.code: int | None = None
        self._control, self._said = control, b""
        self._errors = opened(self.path)
        self._since = os.fstat(self._errors.fileno()).st_size
        there = f"cd {shlex.quote(str(directory))} && exec {shlex.join([*ROOM, PROBE])}"
        own = ("-M", "-S", control, "-o", "ControlPersist=no")
        self._process = _started([*SSH, *own, "--", host, there], self._errors, True)

    def poll(self) -> int | None:
        """Returns the exit code, if the connection has ended; reads the folder's path."""
        assert self._process.stdout is not None
        while not self.folder and has_data(self._process.stdout.fileno()):
            data = os.read(self._process.stdout.fileno(), 1024)
            self._said = (self._said + data)[-_LONGEST_LINE:]
            for line in self._said.split(b"\n")[:-1]:
                if line.startswith(MARK.encode()):
                    self.folder = os.fsdecode(line[len(MARK) :])
            if not data:
                break
        code = self._process.poll()
        if code is not None:
            # 128 + number after a signal, as in a shell. The other end must not end by itself, so
            # its code 0 is a failure, too.
            self.code = LOST if code == 0 else code if code > 0 else 128 - code
        return self.code

    def forward(self, ways: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts to add forwardings (`-L` or `-R`, and two paths) to the connection."""
        words = [*SSH, "-S", self._control, "-O", "forward", *ways, "--", self.host]
        return _started(words, self._errors, False)

    @property
    def last(self) -> list[str]:
        """The last lines that ssh and the other end printed."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            file.seek(max(self._since, os.fstat(file.fileno()).st_size - _LAST_BYTES))
            return file.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
        return []

    def hang_up(self) -> None:
        """Lets the other end remove its folder and end."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def close(self) -> None:
        """Waits for the other end for a moment, and ends the connection."""
        end(self._process, _FAREWELL)
        self._errors.close()


def end(process: subprocess.Popen[bytes], seconds: float = _FAREWELL) -> None:
    """Waits for the end of a process, and kills it after `seconds`."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _started(words: Sequence[str], errors: FileIO, listens: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=subprocess.PIPE if listens else errors,
            stderr=errors,
            start_new_session=True,
            preexec_fn=die_with(os.getpid()),
        )
    except OSError as error:
        raise MoxRuntimeError(f"--private: ssh can't be started: {error}") from error
