"""One started task: its process, its output on the console and in a file, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from io import FileIO
from pathlib import Path

from moxing.errors import MoxRuntimeError
from moxing.framework import private
from moxing.launch import console, show
from moxing.launch.lifeline import die_with
from moxing.launch.readable import has_data
from moxing.launch.start import Start
from moxing.native_noise import SIFTED, Sieve

LAST_LINES = 20
_CHUNK = 1 << 16
_FAREWELL, _TICK = 5.0, 0.05  # Seconds.
_LONGEST = 1 << 16  # A line that does not end must not fill the memory.


class Task:
    """A process in a group of its own.

    Attributes:
        name: such as `worker 1`.
        path: the file that keeps its whole output.
        last: its last lines, without TensorFlow's lines that call for no action.
        code: its exit code, 128 + number for a signal as in a shell; None while it runs.
        ended: the time at which its end was noticed, by `time.monotonic()`.
    """

    def __init__(self, name: str, start: Start, folder: Path) -> None:
        self.name = name
        self.path = folder / f"{name.replace(' ', '-')}.log"
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.code: int | None = None
        self.ended = 0.0
        self._rest = b""
        self._sieve = None if start.environ.get("MOX_DEBUG") == "1" else Sieve()
        self._kept = True
        self._file = opened(self.path)
        try:
            self.process = subprocess.Popen(
                start.command,
                stdin=subprocess.PIPE if start.listens else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**start.environ, SIFTED: "1"},
                cwd=start.directory,
                start_new_session=True,
                preexec_fn=die_with(os.getpid()),
            )
        except OSError as error:
            self._file.close()
            raise MoxRuntimeError(
                f"{name} can't be started: {start.command[0]}: {error}"
            ) from error
        assert self.process.stdout is not None
        self.output = self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        if start.secret:
            self._write(start.secret)

    def read(self) -> bool:
        """Passes on the task's output; returns False once no more output will follow."""
        try:
            data = os.read(self.output.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self._keep(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (not data or len(self._rest) > _LONGEST):
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._say(line)
        return bool(data)

    def poll(self) -> bool:
        """Whether the task has ended; records its code the first time."""
        if self.code is None:
            # The process is not reaped before `close`, so that no other group gets its number.
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            end = os.waitid(os.P_PID, self.process.pid, flags)
            if end is None:
                return False
            self.code = end.si_status + (0 if end.si_code == os.CLD_EXITED else 128)
            self.ended = time.monotonic()
        return True

    def send(self, number: int) -> None:
        """Sends a signal to the task and to all processes that it started."""
        if self.process.stdin is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            return
        self._write(str(int(number)))

    def show_stacks(self) -> None:
        """Has the task print where its threads are; may be called at any time, by a signal."""
        if self.code is not None:
            return
        if self.process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(self.process.stdin.fileno(), b"%d\n" % signal.SIGUSR1)
        elif not show.show_stacks(self.process.pid):
            print(show.NOT_YET.format(self.name), file=sys.stderr, flush=True)

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # The task has just ended.
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def close(self) -> None:
        """Kills the rest of the group, passes on the rest of the output, closes the files."""
        self.send(signal.SIGKILL)
        if self.process.stdin is not None:
            self._say_goodbye()
        while not self.poll():  # A process that gets SIGKILL ends.
            time.sleep(0.001)
        self.process.wait()
        # The wait has a limit, because a process that left the group may keep the pipe open.
        while has_data(self.output.fileno()) and self.read():
            pass
        if self._rest:
            self._say(self._rest)
        self.output.close()
        self._file.close()

    def _say_goodbye(self) -> None:
        """Waits until the processes on the other machine are killed, and closes the connection."""
        deadline = time.monotonic() + _FAREWELL
        while not self.poll() and time.monotonic() < deadline:
            if has_data(self.output.fileno(), _TICK):
                self.read()
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _keep(self, data: bytes) -> None:
        """Writes to the file; a full disk there does not end the job."""
        try:
            self._file.write(data)
        except OSError as error:
            if self._kept:
                console.put(
                    sys.stderr,
                    f"mox: warning: the output of {self.name} is not kept in {self.path} any"
                    f" longer: {error.strerror}.",
                )
            self._kept = False

    def _say(self, line: bytes) -> None:
        if self._sieve is not None and self._sieve.is_noise(line):
            return  # The line is in the file only.
        # A progress line replaces itself by carriage returns: only its last state counts.
        text = line.decode(errors="replace").rstrip("\r").rpartition("\r")[2]
        self.last.append(text)
        console.put(sys.stdout, f"[{self.name}] {text}")


def opened(path: Path) -> FileIO:
    """Opens a file for the output of a task, which is appended to it.

    Raises:
        MoxRuntimeError: the file can't be written, or another user may have put a link there.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return FileIO(private.open_to_write(str(path), flags), "ab")
    except OSError as error:
        raise MoxRuntimeError(
            f"the output of a task can't be kept in {path}: {error.strerror}. --logs=DIR names"
            " another folder."
        ) from error
