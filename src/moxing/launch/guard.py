"""Runs a task on another machine, at the far end of ssh: `python -m moxing.launch.guard COMMAND`.

With `--secret` before the command, the first line of the input is the secret of the job, which the
command gets in its environment: no list of processes shows it, and no file keeps it. With
`--private` and a description of the task's place, the command runs in a network of its own.

ssh passes no signals on, and a program that it started lives on when the connection is lost. So the
launcher writes the numbers of signals, a line each, to this program's input. The end of that input
means that no launcher waits for the task any more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

from moxing import signals
from moxing.cluster.secret import FILE_VARIABLE, VARIABLE
from moxing.errors import MoxError
from moxing.launch import show
from moxing.launch.lifeline import die_with
from moxing.launch.private import forwarder, inside
from moxing.launch.readable import has_data

GRACE_SECONDS = 20.0  # After the end of the input, until SIGKILL.
_PASSED = {str(int(number)).encode(): number for number in (1, 2, 9, 15, 18)}
_SHOWS = str(int(signal.SIGUSR1)).encode()
_TICK = 0.05
_NOT_STARTED = 127  # A shell's exit code for a command that it can't run.
WITH_SECRET = "--secret"
_LONGEST_SECRET, _SECRET_SECONDS = 1024, 60.0


def main(command: Sequence[str]) -> int:
    """Runs the command in its own process group; returns its code, 128 + number after a signal."""
    gone: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        gone.append(number)

    signals.install(dict.fromkeys((signal.SIGTERM, signal.SIGHUP, signal.SIGINT), note))
    environ = dict(os.environ)
    if command[0] == WITH_SECRET:
        command, secret = command[1:], _first_line(gone)
        if not secret:
            print("The launcher has gone before the task began.", file=sys.stderr)
            return 128 + signal.SIGTERM
        environ.pop(FILE_VARIABLE, None)
        environ[VARIABLE] = secret
    place, command = inside.read(command)
    entered = None
    try:
        if place is not None:
            entered = place.enter()
            environ = place.environ(environ, entered.way_out is not None)
            if entered.lacking and place.is_first:
                print(
                    "mox: note: the tasks of this machine reach only the other tasks:"
                    f" {entered.lacking}.",
                    flush=True,
                )
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
            preexec_fn=die_with(os.getpid()),
        )
    except OSError as error:
        print(f"{command[0]} can't be started: {error}", file=sys.stderr)
        return _NOT_STARTED
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    if entered is not None:
        # Only now, as a process with threads must not fork as Popen does here.
        forwarder.start(entered.ways)
    try:
        _watch(process, gone)
    finally:
        _send(process.pid, signal.SIGKILL)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _first_line(gone: Sequence[int]) -> str:
    """Reads the first line of the input, and no byte after it; empty if there is no line."""
    line, deadline = b"", time.monotonic() + _SECRET_SECONDS
    while not gone and len(line) <= _LONGEST_SECRET and time.monotonic() < deadline:
        if has_data(0, _TICK):
            char = os.read(0, 1)
            if char == b"\n":
                return line.decode(errors="replace")
            if not char:
                break
            line += char
    return ""


def _watch(process: subprocess.Popen[bytes], gone: Sequence[int]) -> None:
    """Passes signals on until the process has ended; kills it if it outlives the input for long."""
    rest, deadline = b"", None
    # The process is not reaped here, so that no other process group gets its number.
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if deadline is not None:
            if time.monotonic() > deadline:
                return
            time.sleep(_TICK)
            continue
        ended = bool(gone)
        if not ended and has_data(0, _TICK):
            data = os.read(0, 1024)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line == _SHOWS:
                    if not show.show_stacks(process.pid):
                        print(show.NOT_YET.format("The task"), file=sys.stderr, flush=True)
                elif line in _PASSED:
                    _send(process.pid, _PASSED[line])
            ended = not data
        if ended:
            _send(process.pid, signal.SIGTERM)
            deadline = time.monotonic() + GRACE_SECONDS


def _send(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
