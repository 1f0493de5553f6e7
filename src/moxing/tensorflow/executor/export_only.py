"""Makes a program's `mox.run` export a checkpoint and end the program, for `mox export`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from moxing.engine.job.job import Data, Export, Job
from moxing.engine.run.export_run import export_checkpoint
from moxing.tensorflow.executor import arguments, stated_inputs
from moxing.tensorflow.executor.stated_inputs import Stated


@dataclass(frozen=True)
class Request:
    """A request to export instead of running.

    Attributes:
        kinds: constants of `ExportKeys`.
        checkpoint: a checkpoint, or a directory of checkpoints; None: the program's own.
        to: the directory for the model, in a folder named by its version; None: the program's
            log_dir.
        inputs: the inputs of the model; empty: those that input_fn makes.
    """

    kinds: tuple[str, ...]
    checkpoint: str | None = None
    to: str | None = None
    inputs: tuple[Stated, ...] = ()


class Exported(SystemExit):
    """Ends a program after the requested export."""


# The requests of `mox export` in this process, to the program that it runs.
_requests: list[Request] = []


@contextmanager
def instead_of_running(request: Request) -> Iterator[None]:
    """In the block, the first `mox.run` exports and raises `Exported`."""
    _requests.append(request)
    try:
        yield
    finally:
        _requests.remove(request)


def make_request(
    kinds: list[str], checkpoint: str | None, to: str | None, inputs: Sequence[str] = ()
) -> Request:
    """Returns a request with checked values.

    Raises:
        MoxError: a kind is unknown, a path is invalid, or a text is no input.
    """
    return Request(
        arguments.export_kinds("--kind", kinds),
        arguments.check_path("--checkpoint", checkpoint),
        arguments.check_path("--to", to),
        stated_inputs.parse(inputs),
    )


def requested() -> Request | None:
    """Returns the request to export instead of running; None: the program runs."""
    return _requests[-1] if _requests else None


def end_with_export(job: Job, request: Request) -> NoReturn:
    """Exports, and ends the program.

    Raises:
        Exported: always, unless the export fails.
    """
    wanted = dataclasses.replace(job, export=Export(True, request.kinds))
    if request.inputs:
        made = Data(stated_inputs.input_fn(request.inputs), None, make_batches=False)
        wanted = dataclasses.replace(wanted, data=made)
    export_checkpoint(wanted, request.checkpoint, request.to)
    raise Exported(0)
