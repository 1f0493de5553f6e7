"""Runs all tasks of a job once: starts them, waits, and stops all when one fails."""

from __future__ import annotations

import contextlib
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moxing.cluster.cluster import PS
from moxing.launch.start import Start
from moxing.launch.stop import Stop
from moxing.launch.task import Task

PREEMPTED = 128 + signal.SIGTERM
_TICK = 0.05


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds.

    Attributes:
        explain: after a task has died, for the others to end by themselves, as theirs may be the
            error that it died of.
        stop: after SIGTERM, before SIGKILL; a step may have to be saved.
        ps: for parameter servers, after the last worker has ended.
    """

    explain: float = 5.0
    stop: float = 30.0
    ps: float = 30.0


@dataclass(frozen=True)
class Outcome:
    """How the tasks ended.

    Attributes:
        ends: code by task, in the order in which they ended.
        cause: the task that failed first; None: all did their work, or a signal stopped them.
        last_lines: what the cause printed last.
        path: the file with all that it printed.
    """

    ends: Mapping[str, int]
    cause: str | None = None
    last_lines: Sequence[str] = ()
    path: Path | None = None

    @property
    def code(self) -> int:
        return 0 if self.cause is None else self.ends[self.cause]


def run(
    starts: Mapping[str, Start],
    folder: Path,
    stop: Stop,
    limits: Limits,
) -> Outcome:
    """Runs the tasks until all have ended, at most one of them by itself with a failure.

    Args:
        starts: by task.
        folder: for one output file a task.
        stop: signals that this process got.
        limits: of waiting.

    Raises:
        MoxRuntimeError: a task can't be started.
    """
    tasks: list[Task] = []
    with contextlib.ExitStack() as stack:
        for name, start in starts.items():
            tasks.append(Task(name, start, folder))
            stack.callback(tasks[-1].close)
        failed = _watch(tasks, stop, limits)
    # By now the rest of the output has been read.
    tasks.sort(key=lambda task: task.ended)
    ends = {task.name: task.code or 0 for task in tasks}
    if failed is None:
        return Outcome(ends)
    return Outcome(ends, failed.name, tuple(failed.last), failed.path)


def _watch(tasks: Sequence[Task], stop: Stop, limits: Limits) -> Task | None:
    """Waits for the end; returns the task whose failure was the cause of it."""
    with selectors.DefaultSelector() as selector:
        for task in tasks:
            selector.register(task.output, selectors.EVENT_READ, task)
        _until(lambda: bool(stop) or _over(tasks), tasks, selector, None)
        if stop:
            _end(tasks, selector, stop, limits)
            return None
        done = not _failures(tasks)
        limit = limits.ps if done else limits.explain
        _until(lambda: bool(stop) or _all_ended(tasks), tasks, selector, limit)
        failed = None if done else _cause(_failures(tasks))
        _end(tasks, selector, stop, limits)
        return failed


def _over(tasks: Sequence[Task]) -> bool:
    """Whether a task has failed, or every worker has done its work."""
    workers_done = all(task.code == 0 for task in tasks if not task.name.startswith(PS))
    return bool(_failures(tasks)) or workers_done


def _failures(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if task.code]


def _all_ended(tasks: Sequence[Task]) -> bool:
    return all(task.code is not None for task in tasks)


def _cause(failures: Sequence[Task]) -> Task | None:
    """The first that failed by itself; tasks that only lost a partner end with 143."""
    return min(failures, key=lambda task: (task.code == PREEMPTED, task.ended), default=None)


def _end(
    tasks: Sequence[Task], selector: selectors.BaseSelector, stop: Stop, limits: Limits
) -> None:
    """Passes on the signal that this process got, or SIGTERM; what is left dies in `close`."""
    for task in tasks:
        if task.code is None:
            task.send(stop.signal or signal.SIGTERM)
            task.send(signal.SIGCONT)  # One that was stopped hears nothing else.
    asked = stop.count
    _until(lambda: _all_ended(tasks) or stop.count > asked, tasks, selector, limits.stop)


def _until(
    condition: Callable[[], bool],
    tasks: Sequence[Task],
    selector: selectors.BaseSelector,
    limit: float | None,
) -> None:
    """Passes output on and notes ends until a condition holds; `None`: as long as they work."""
    deadline = None if limit is None else time.monotonic() + limit
    while not condition() and (deadline is None or time.monotonic() < deadline):
        if not selector.get_map():
            time.sleep(_TICK)
        for key, _ in selector.select(_TICK):
            if not key.data.read():
                selector.unregister(key.fileobj)
        for task in tasks:
            task.poll()
