"""Reads `--dry_run`, and sees to it that no program trains in full where it was asked for."""

from __future__ import annotations

from moxing import flags
from moxing.errors import MoxNotSupportedError

# Whether a run of this process has read the flag.
_read: list[bool] = []


def wanted() -> bool:
    """Whether runs make one step only, in a scratch folder."""
    _read.append(True)
    return flags.get_flag("dry_run")


def refuse(face: str, instead: str) -> None:
    """Refuses the flag for a face that can't make dry runs.

    Args:
        face: the name of the function that was called.
        instead: the way to try a program of this face, as the end of a sentence.

    Raises:
        MoxNotSupportedError: the flag was given.
    """
    if wanted():
        raise MoxNotSupportedError(f"--dry_run is for mox.run, not for {face}: {instead}.")


def unread() -> bool:
    """Whether the flag was given and no run has read it: the program made its steps itself."""
    return not _read and flags.get_flag("dry_run")
