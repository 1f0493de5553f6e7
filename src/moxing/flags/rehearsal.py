"""Reads `--dry_run`, refuses the flag for faces without dry runs, and tells if no run read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from moxing import flags
from moxing.errors import MoxNotSupportedError

if TYPE_CHECKING:
    from moxing.engine.job.job import Job, Result

# Whether a run of this process has read the flag.
_read: list[bool] = []
# Whether the program defines a flag of this name, which then is about its own work.
_programs: list[bool] = []


def wanted() -> bool:
    """Whether runs only make a step or two, in a scratch folder; notes that a run has asked."""
    _read.append(True)
    return flags.get_flag("dry_run")


def execute(make: Callable[[], Job]) -> Result:
    """Runs a job, or with --dry_run a step or two of it in a scratch folder.

    Args:
        make: returns the job, at each call for one run.

    Raises:
        MoxError: a part of the job can't be run.
    """
    from moxing.engine.run import execution, rehearsed

    return rehearsed.rehearse(make) if wanted() else execution.execute(make())


def folder_for(log_dir: str) -> str:
    """Returns `log_dir`, or with --dry_run the scratch folder that stands for it."""
    if not flags.get_flag("dry_run"):
        return log_dir
    from moxing.engine.run import rehearsed

    return rehearsed.stand_in(log_dir)


def checkpoint_for(path: str) -> str:
    """Returns `path`, or with --dry_run the checkpoint of this process's dry training there."""
    if not flags.get_flag("dry_run"):
        return path
    from moxing.engine.run import rehearsed

    return rehearsed.checkpoint_for(path)


def refuse(face: str, instead: str) -> None:
    """Refuses the flag for a face that can't make dry runs.

    Args:
        face: the name of the function that was called.
        instead: the way to try a program of this face, such as "pass a small total_steps".

    Raises:
        MoxNotSupportedError: the flag was given.
    """
    if wanted():
        raise MoxNotSupportedError(f"--dry_run is for mox.run, not for {face}: {instead}.")


def define_in_program() -> None:
    """Notes that the program defines a flag of this name."""
    _programs.append(True)


def unread() -> bool:
    """Whether the flag was given but no run read the flag, as the program made its steps itself.

    A flag of the program's own counts as read.
    """
    return not _read and not _programs and flags.get_flag("dry_run")
