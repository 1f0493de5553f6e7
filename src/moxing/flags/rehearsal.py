"""Reads `--dry_run`, refuses the flag for faces without dry runs, and tells if no run read it."""

from __future__ import annotations

from moxing import flags
from moxing.errors import MoxNotSupportedError

# Whether a run of this process has read the flag.
_read: list[bool] = []


def wanted() -> bool:
    """Whether runs only make a step or two, in a scratch folder; notes that a run has asked."""
    _read.append(True)
    return flags.get_flag("dry_run")


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


def unread() -> bool:
    """Whether the flag was given but no run read the flag, as the program made its steps itself."""
    return not _read and flags.get_flag("dry_run")
