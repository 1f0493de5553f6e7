"""Restarts a job after a death, within a budget; reports the task that failed first."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from moxing.errors import MoxRuntimeError
from moxing.framework import backoff
from moxing.launch import console, gang, inherited
from moxing.launch.gang import Limits, Outcome
from moxing.launch.start import Network, Startable
from moxing.launch.stop import noted
from moxing.signals import StopRequest

_LONGEST_PAUSE = 60.0
_NOT_REACHED = 255  # ssh's exit code if it has no connection; also that of `sys.exit(-1)`.
# Codes of signals, 143 included, after which a restart makes sense. Other codes are the program's.
_DEATHS = range(128 + 1, 128 + signal.NSIG)


def supervise(
    job: Startable,
    folder: Path,
    max_restarts: int = 3,
    first_pause: float = 1.0,
    limits: Limits | None = None,
    network: Network | None = None,
) -> int:
    """Runs a job to its end.

    Args:
        job: what to run.
        folder: gets the output of each task; made if missing.
        max_restarts: how many times the job is restarted after a signal has killed a task.
        first_pause: seconds before the first restart; doubled at each further one, up to 60.
        limits: the limits of waiting.
        network: connects the tasks; None for the machines' own network.

    Returns:
        0 on success; the failed program's code from 1 to 127; 128 + number after a signal.

    Raises:
        MoxError: a task can't be started, or its output can't be kept.
    """
    _make(folder)
    left_out = inherited.foreign(os.environ)
    if left_out and not job.over_ssh:
        say(
            job,
            f"The tasks don't get {inherited.described(left_out)} of this environment: the launcher"
            " itself tells them where they are.",
        )
    with noted() as stop:
        for restarts in range(max_restarts + 1):
            outcome = _once(job, folder, stop, limits or Limits(), network or Network())
            if stop:
                say(job, f"{signal.Signals(stop.signal or 0).name}: all tasks have ended.")
                return stop.exit_code
            if outcome.cause is None:
                return 0
            _report(job, outcome)
            if outcome.code not in _DEATHS and not _is_lost(job, outcome.code):
                return outcome.code
            if restarts < max_restarts:
                pause = backoff.pause(restarts + 1, first_pause, _LONGEST_PAUSE, spread=0)
                count = f"restart {restarts + 1} of {max_restarts}"
                say(job, f"Starting all again in {pause:g} s: {count}.")
                _sleep(pause, stop)
                if stop:
                    return stop.exit_code
        say(job, f"No restart is left (--max_restarts={max_restarts}).")
        return outcome.code


def _once(
    job: Startable, folder: Path, stop: StopRequest, limits: Limits, network: Network
) -> Outcome:
    """Runs all tasks once, with the network that connects them."""
    own = partial(say, job)
    try:
        network.open(folder, stop, own)
        if stop:
            return Outcome({})
        if lost := network.lost():
            return gang.failure(lost, {})
        return gang.run(job.starts(os.environ), folder, stop, limits, own, network)
    finally:
        network.close()


def described(code: int) -> str:
    """Words an exit code: `code 1`, or `killed by SIGKILL (code 137)`."""
    if code == gang.PREEMPTED:
        return f"told to stop, or lost a partner (code {code})"
    try:
        return f"killed by {signal.Signals(code - 128).name} (code {code})"
    except ValueError:
        return f"code {code}"


def say(job: Startable, text: str) -> None:
    """Prints one of the launcher's own lines."""
    console.put(sys.stderr, f"{job.title}: {text}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MoxRuntimeError(
            f"the output of the tasks can't be kept in {folder}: {error.strerror}. --logs=DIR names"
            " another folder."
        ) from error


def _is_lost(job: Startable, code: int) -> bool:
    """Whether a code is ssh's own: it has no connection to the machine, or has lost it."""
    return job.over_ssh and code == _NOT_REACHED


def _report(job: Startable, outcome: Outcome) -> None:
    cause, end = outcome.cause or "", described(outcome.code)
    if _is_lost(job, outcome.code):
        end = f"ssh could not reach its machine, or lost it (code {outcome.code})"
    say(job, f"{cause} failed first: {end}. Its output is in {outcome.path}.")
    say(job, "Its last lines:" if outcome.last_lines else "It printed nothing.")
    for line in outcome.last_lines:
        console.put(sys.stderr, f"    {line}")
    for name, code in outcome.ends.items():
        if name != cause:
            say(job, f"{name} then: {described(code)}.")


def _sleep(seconds: float, stop: StopRequest) -> None:
    until = time.monotonic() + seconds
    while not stop and time.monotonic() < until:
        time.sleep(min(0.05, seconds))
