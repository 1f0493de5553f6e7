"""Starts a job again after a death, within a budget; reports what failed first."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from moxing.launch import gang
from moxing.launch.gang import Limits, Outcome
from moxing.launch.plan import Plan, commands, environment
from moxing.launch.stop import Stop, noted

_LONGEST_PAUSE = 60.0
_DEATH = 128  # Codes above are signals, or 143: worth another try. Others are the program's own.


def supervise(
    plan: Plan,
    folder: Path,
    max_restarts: int = 3,
    first_pause: float = 1.0,
    limits: Limits | None = None,
) -> int:
    """Runs a job to its end.

    Args:
        plan: the job.
        folder: for the output of each task; made if missing.
        max_restarts: how often the job is started again after a task has died of a signal.
        first_pause: seconds before the first restart; doubled at each further one, up to 60.
        limits: how long to wait for what.

    Returns:
        0; 1 to 127 as the program that failed ended; 128 + number after a signal.

    Raises:
        MoxError: a task can't be started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environ = environment(os.environ)
    with noted() as stop:
        for restarts in range(max_restarts + 1):
            tasks = commands(plan)
            outcome = gang.run(tasks, environ, folder, stop, limits or Limits())
            if stop:
                _say(f"{signal.Signals(stop.signal or 0).name}: all tasks have ended.")
                return stop.exit_code
            if outcome.cause is None:
                return 0
            _report(outcome)
            if outcome.code <= _DEATH:
                return outcome.code
            if restarts < max_restarts:
                pause = min(first_pause * 2**restarts, _LONGEST_PAUSE)
                _say(
                    f"Starting all again in {pause:g} s: restart {restarts + 1} of {max_restarts}."
                )
                _sleep(pause, stop)
                if stop:
                    return stop.exit_code
        _say(f"No restart is left (--max_restarts={max_restarts}).")
        return outcome.code


def described(code: int) -> str:
    """What an exit code says: `code 1`, or `killed by SIGKILL (code 137)`."""
    if code == gang.PREEMPTED:
        return f"told to stop, or lost a partner (code {code})"
    try:
        return f"killed by {signal.Signals(code - 128).name} (code {code})"
    except ValueError:
        return f"code {code}"


def _report(outcome: Outcome) -> None:
    cause = outcome.cause or ""
    _say(f"{cause} failed first: {described(outcome.code)}. Its output is in {outcome.path}.")
    _say("Its last lines:" if outcome.last_lines else "It printed nothing.")
    for line in outcome.last_lines:
        print(f"    {line}", file=sys.stderr)
    for name, code in outcome.ends.items():
        if name != cause:
            _say(f"{name} then: {described(code)}.")
    sys.stderr.flush()


def _say(text: str) -> None:
    print(f"mox launch: {text}", file=sys.stderr, flush=True)


def _sleep(seconds: float, stop: Stop) -> None:
    until = time.monotonic() + seconds
    while not stop and time.monotonic() < until:
        time.sleep(min(0.05, seconds))
