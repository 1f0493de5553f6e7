"""Contestants in processes of their own that take turns, and what a turn costs on a shared machine.

Wall time alone says little where other programs run. So the contestants alternate in many short
rounds, medians are compared, and CPU time is given beside wall time.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

START_SECONDS = 600
ROUND_SECONDS = 600
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

Numbers = dict[str, float]


def cpu_seconds() -> float:
    """CPU time of this process and of its living descendants, as Linux accounts it."""
    return sum(_cpu_ticks(pid) for pid in _tree(os.getpid())) / _CLOCK_TICKS


def _tree(pid: int) -> list[int]:
    found = [pid]
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in file.read_text().split():
            found += _tree(int(child))
    return found


def _cpu_ticks(pid: int) -> int:
    # The name, in parentheses, may hold spaces; user and system time are fields 14 and 15.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Channel:
    """The contestant's side: answers each line that the referee sends with one of numbers."""

    def __init__(self) -> None:
        # What libraries print goes to standard error.
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def wait(self, **numbers: float) -> None:
        """Says that the last round gave `numbers`, and returns when the next one begins."""
        print(json.dumps(numbers), file=self._out, flush=True)
        if not sys.stdin.readline():
            os._exit(0)


def serve(measure: Callable[[], Numbers], **ready: float) -> None:
    """Calls `measure` once a round; `ready` are numbers of the preparation."""
    channel = Channel()
    channel.wait(**ready)
    while True:
        channel.wait(**measure())


class Turns:
    """Rounds of a loop that can't be left and entered again: it calls `tick` after each step.

    The first step of each round is not counted: it pays for what the pause cost. Nor is the first
    round, whose numbers are sent along with `ready`.
    """

    def __init__(self, steps: int) -> None:
        self.ready: Numbers = {}
        self._channel = Channel()
        self._steps = steps
        self._ticks = 0
        self._started = self._used = 0.0

    def tick(self) -> None:
        self._ticks += 1
        if self._ticks == 1:
            self._started, self._used = time.perf_counter(), cpu_seconds()
        elif self._ticks == 1 + self._steps:
            wall, cpu = time.perf_counter() - self._started, cpu_seconds() - self._used
            self._channel.wait(**self.ready, wall=wall / self._steps, cpu=cpu / self._steps)
            self._ticks = 0


class Contestant:
    """The referee's side of one process."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **environment},
        )
        self.ready = self._answer(START_SECONDS)
        self.rounds: list[Numbers] = []

    def play(self) -> None:
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        self.rounds.append(self._answer(ROUND_SECONDS))

    def median(self, key: str) -> float:
        return statistics.median(numbers[key] for numbers in self.rounds)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _answer(self, seconds: float) -> Any:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if readable else ""
        if line:
            return json.loads(line)
        self._process.kill()
        self._log.seek(0)
        why = "ended" if readable else f"did not answer in {seconds} s"
        raise SystemExit(f"{self.name} {why}:\n{self._log.read()[-4000:]}")


def compete(contestants: Sequence[Contestant], rounds: int) -> str:
    """Lets each play `rounds` rounds, in turns; returns the machine's load meanwhile."""
    loads = []
    for number in range(rounds):
        # Every other round backwards, so that nobody always follows the same one.
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            contestant.play()
            loads.append(os.getloadavg()[0])
    cores = len(os.sched_getaffinity(0))
    return f"load {min(loads):.1f} to {max(loads):.1f} on {cores} cores"
