from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moxing.launch.ports import free_ports

PROGRAM = Path(__file__).with_name("task.py")


class Task:
    """A started task and what it has printed so far."""

    def __init__(self, output: Path, **given: Any) -> None:
        self._output = output
        with output.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), json.dumps(given)],
                stdout=stream,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    @property
    def last_line(self) -> str:
        return self.output.splitlines()[-1]

    def wait_for(self, text: str, seconds: float = 240) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.output}"
            time.sleep(0.02)

    def end(self, seconds: float = 240) -> int:
        """The exit code."""
        return self.process.wait(timeout=seconds)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@pytest.fixture
def ports() -> Callable[[int], list[str]]:
    """Makes addresses on loopback that are free."""
    return lambda count: [f"127.0.0.1:{port}" for port in free_ports(count)]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Task]]:
    """Starts tasks as processes; none outlives the test."""
    tasks: list[Task] = []

    def begin(**given: Any) -> Task:
        tasks.append(Task(tmp_path / f"task{len(tasks)}.txt", **given))
        return tasks[-1]

    yield begin
    for task in tasks:
        task.process.kill()
        task.process.wait()


@pytest.fixture
def gang(
    ports: Callable[[int], list[str]], start: Callable[..., Task]
) -> Callable[..., dict[str, Task]]:
    """Starts all tasks of a job, by name."""

    def begin(workers: int, ps: int = 0, each: Any = None, **given: Any) -> dict[str, Task]:
        addresses = ports(workers + ps)
        lists = {"workers": addresses[:workers], "ps": addresses[workers:]}
        names = [("worker", i) for i in range(workers)] + [("ps", i) for i in range(ps)]
        return {
            f"{job} {index}": start(
                **lists,
                job=job,
                index=index,
                **{**given, **(each or {}).get(f"{job} {index}", {})},
            )
            for job, index in names
        }

    return begin
