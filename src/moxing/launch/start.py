"""Describes how to start the tasks of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from moxing.signals import StopRequest


@dataclass(frozen=True)
class Start:
    """Describes how to start one task.

    Attributes:
        command: the program and its arguments.
        environ: the whole environment of the task.
        directory: the task's working directory; None for the launcher's.
        listens: whether the process reads the numbers of signals from its input, a line each, and
            passes them on to the machine that runs the program.
        secret: the job's secret; with `listens`, the first line of the input, since other users
            could see it in the command or the environment of a program that connects to another
            machine.
    """

    command: Sequence[str]
    environ: Mapping[str, str] = field(repr=False)
    directory: Path | None = None
    listens: bool = False
    secret: str = field(default="", repr=False)


class Startable(Protocol):
    """A job, as its supervisor sees it."""

    @property
    def title(self) -> str:
        """The user's command, with which every message begins: `mox launch`."""
        ...

    @property
    def over_ssh(self) -> bool:
        """Whether the tasks run on other machines."""
        ...

    def starts(self, environ: Mapping[str, str]) -> Mapping[str, Start]:
        """Returns how to start each task now, by its name, such as `worker 1` or `ps 0`."""
        ...


class Failed(Protocol):
    """A task that has ended its job, or a connection on which all tasks depend."""

    @property
    def name(self) -> str: ...

    @property
    def code(self) -> int | None: ...

    @property
    def last(self) -> Iterable[str]: ...

    @property
    def path(self) -> Path: ...


class Network:
    """The connections between the tasks of one start of a job: here, the machines' own network."""

    def open(self, logs: Path, stop: StopRequest, say: Callable[[str], None]) -> None:
        """Connects the machines before the tasks start, unless a signal asks to stop."""

    def lost(self) -> Failed | None:
        """Returns the connection that failed, if the tasks can't reach each other any more."""
        return None

    def close(self) -> None:
        """Removes everything that `open` made."""
