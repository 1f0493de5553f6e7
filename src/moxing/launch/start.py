"""What it takes to start the tasks of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Start:
    """How one task is started.

    Attributes:
        command: the program and its arguments.
        environ: its whole environment.
        directory: where it works; None: where the launcher does.
        listens: it reads the numbers of signals from its input, a line each, and passes them on to
            where the program really runs.
        secret: of the job; with `listens`, the first line of its input, as neither the command nor
            the environment of a program that connects to another machine is a place for it.
    """

    command: Sequence[str]
    environ: Mapping[str, str] = field(repr=False)
    directory: Path | None = None
    listens: bool = False
    secret: str = field(default="", repr=False)


class Startable(Protocol):
    """A job, as the one who watches it knows it."""

    @property
    def title(self) -> str:
        """The command that the user gave, which begins every message: `mox launch`."""
        ...

    @property
    def over_ssh(self) -> bool:
        """Whether the tasks run on other machines."""
        ...

    def starts(self, environ: Mapping[str, str]) -> Mapping[str, Start]:
        """How to start each task now, by its name, such as `worker 1` or `ps 0`."""
        ...
