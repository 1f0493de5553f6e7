"""Makes a program's `mox.run` export a checkpoint and end the program, as `mox export` wants it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from moxing.engine.job.job import Export, Job
from moxing.engine.run.export_run import export_checkpoint
from moxing.tensorflow.executor import arguments


@dataclass(frozen=True)
class Request:
    """What to export instead of running.

    Attributes:
        kinds: constants of `ExportKeys`.
        checkpoint: a checkpoint, or a directory of some; None: as the program says.
        to: directory that gets the model, under its version; None: the program's log_dir.
    """

    kinds: tuple[str, ...]
    checkpoint: str | None = None
    to: str | None = None


class Exported(SystemExit):
    """Ends a program that has exported what was requested."""


# Of this process: what `mox export` asks of the program that it runs.
_requests: list[Request] = []


@contextmanager
def instead_of_running(request: Request) -> Iterator[None]:
    """In the block, the first `mox.run` exports and raises `Exported`."""
    _requests.append(request)
    try:
        yield
    finally:
        _requests.remove(request)


def make_request(kinds: list[str], checkpoint: str | None, to: str | None) -> Request:
    """A request, checked.

    Raises:
        MoxError: a kind that needs a package that is not installed, or a path that can't be one.
    """
    return Request(
        arguments.export_kinds("--kind", kinds),
        arguments.check_path("--checkpoint", checkpoint),
        arguments.check_path("--to", to),
    )


def requested() -> Request | None:
    """What is to be exported instead of running; None: the program runs."""
    return _requests[-1] if _requests else None


def end_with_export(job: Job, request: Request) -> NoReturn:
    """Exports, and ends the program.

    Raises:
        Exported: always, where nothing else is raised.
    """
    wanted = dataclasses.replace(job, export=Export(True, request.kinds))
    export_checkpoint(wanted, request.checkpoint, request.to)
    raise Exported(0)
