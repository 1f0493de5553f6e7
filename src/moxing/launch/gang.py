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
from moxing.errors import MoxValueError
from moxing.launch import show
from moxing.launch.start import Failed, Network, Start
from moxing.launch.task import Task
from moxing.signals import StopRequest

PREEMPTED = 128 + signal.SIGTERM
GRACE_SECONDS = 300.0
_TICK = 0.05
_LONGEST_GRACE = 86400
_NAMED = 4  # Tasks that one line names.


@dataclass(frozen=True)
class Limits:
    """Limits of waiting, in seconds.

    Attributes:
        explain: how long the other tasks may go on after a task has died: one of them may still
            report the error that caused the death.
        stop: the time between SIGTERM and SIGKILL, in which tasks save a step and end an upload.
        ps: how long parameter servers may go on after the last worker has ended.
        quiet: the time after SIGTERM until a line names the tasks that have not ended.
    """

    explain: float = 5.0
    stop: float = GRACE_SECONDS
    ps: float = 30.0
    quiet: float = 2.0


def limits_with(grace: float | None) -> Limits:
    """Returns the default limits, with the seconds of `--grace`, if given.

    Raises:
        MoxValueError: `grace` is negative or longer than a day.
    """
    if grace is None:
        return Limits()
    if not 0 <= grace <= _LONGEST_GRACE:
        raise MoxValueError(
            f"--grace={grace:g} must be from 0 to {_LONGEST_GRACE} seconds, a day; 0 kills at once."
        )
    return Limits(stop=grace)


@dataclass(frozen=True)
class Outcome:
    """How the tasks ended.

    Attributes:
        ends: code by task, in the order in which they ended.
        cause: the first task that failed by itself, and not because it lost another task; None if
            all did their work, or a signal stopped them.
        last_lines: the last lines that `cause` printed.
        path: the file with the whole output of `cause`.
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
    stop: StopRequest,
    limits: Limits,
    say: Callable[[str], None],
    network: Network,
) -> Outcome:
    """Runs the tasks until all have ended; the first failure stops the others.

    Args:
        starts: by task.
        folder: gets one output file for each task.
        stop: signals that this process got.
        limits: the limits of waiting.
        say: prints one of the launcher's own lines.
        network: connects the tasks; it is open already.

    Raises:
        MoxRuntimeError: a task can't be started.
    """
    tasks: list[Task] = []
    with contextlib.ExitStack() as stack:
        for name, start in starts.items():
            tasks.append(Task(name, start, folder))
            stack.callback(tasks[-1].close)
        stack.enter_context(show.on_request(lambda: [t.show_stacks() for t in tasks]))
        failed = _watch(tasks, stop, limits, say, network)
    # By now the rest of the output has been read.
    tasks.sort(key=lambda task: task.ended)
    ends = {task.name: task.code or 0 for task in tasks}
    return Outcome(ends) if failed is None else failure(failed, ends)


def failure(failed: Failed, ends: Mapping[str, int]) -> Outcome:
    """Returns the outcome of a job that `failed` has ended, with the ends of its tasks."""
    ends = {failed.name: failed.code or 0, **ends}
    return Outcome(ends, failed.name, tuple(failed.last), failed.path)


def _watch(
    tasks: Sequence[Task],
    stop: StopRequest,
    limits: Limits,
    say: Callable[[str], None],
    network: Network,
) -> Failed | None:
    """Waits for the end; returns the task, or the connection, whose failure caused it, if any."""
    with selectors.DefaultSelector() as selector:
        for task in tasks:
            selector.register(task.output, selectors.EVENT_READ, task)
        lost = None

        def over() -> bool:
            nonlocal lost
            lost = network.lost()
            return bool(stop) or lost is not None or _over(tasks)

        _until(over, tasks, selector, None)
        if stop or lost is not None:
            _end(tasks, selector, stop, limits, say)
            return None if stop else lost
        done = not _failures(tasks)
        limit = limits.ps if done else limits.explain
        _until(lambda: bool(stop) or _all_ended(tasks), tasks, selector, limit)
        failed = None if done else _cause(_failures(tasks))
        _end(tasks, selector, stop, limits, say)
        return failed


def _over(tasks: Sequence[Task]) -> bool:
    """Whether a task has failed, or every worker has done its work."""
    return bool(_failures(tasks)) or _workers_done(tasks)


def _workers_done(tasks: Sequence[Task]) -> bool:
    return all(task.code == 0 for task in tasks if not task.name.startswith(PS))


def _failures(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if task.code]


def _all_ended(tasks: Sequence[Task]) -> bool:
    return all(task.code is not None for task in tasks)


def _cause(failures: Sequence[Task]) -> Task | None:
    """Returns the first task that failed by itself; tasks that lost another task end with 143."""
    return min(failures, key=lambda task: (task.code == PREEMPTED, task.ended), default=None)


def _end(
    tasks: Sequence[Task],
    selector: selectors.BaseSelector,
    stop: StopRequest,
    limits: Limits,
    say: Callable[[str], None],
) -> None:
    """Passes on this process's signal, or SIGTERM; `Task.close` kills later what remains."""
    # Once the workers have ended, parameter servers have nothing to save.
    limit = min(limits.stop, limits.ps) if not stop and _workers_done(tasks) else limits.stop
    for task in tasks:
        if task.code is None:
            task.send(stop.signal or signal.SIGTERM)
            task.send(signal.SIGCONT)  # A stopped process handles no other signal.
    asked = stop.count

    def over() -> bool:
        return _all_ended(tasks) or stop.count > asked

    quiet = min(limits.quiet, limit)
    _until(over, tasks, selector, quiet)
    if not over() and limit > quiet:
        again = "Ctrl-C again" if stop.signal == signal.SIGINT else "Ctrl-C"
        say(f"Waiting up to {limit:g} s for {_running(tasks)} to save and end; {again} kills.")
        _until(over, tasks, selector, limit - quiet)


def _running(tasks: Sequence[Task]) -> str:
    """Words the tasks that have not ended; names the first of them."""
    names = [task.name for task in tasks if task.code is None]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _until(
    condition: Callable[[], bool],
    tasks: Sequence[Task],
    selector: selectors.BaseSelector,
    limit: float | None,
) -> None:
    """Passes output on and records ends until a condition holds; a limit of None is no limit."""
    deadline = None if limit is None else time.monotonic() + limit
    while not condition() and (deadline is None or time.monotonic() < deadline):
        if not selector.get_map():
            time.sleep(_TICK)
        for key, _ in selector.select(_TICK):
            if not key.data.read():
                selector.unregister(key.fileobj)
        for task in tasks:
            task.poll()
