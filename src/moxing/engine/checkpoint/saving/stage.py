"""The stage: a hidden directory in which a checkpoint is written before it is committed."""

from __future__ import annotations

from contextlib import AbstractContextManager

from moxing.engine.checkpoint.names import STAGE
from moxing.framework import owners

_STALE_SECONDS = 24 * 3600.0


def stage(directory: str, prefix: str = STAGE) -> AbstractContextManager[str]:
    """An empty directory inside `directory`, so that files can be renamed out of it.

    It is removed at the end of the block.
    """
    return owners.owned_folder(directory, prefix)


def sweep(directory: str, own: str, prefix: str = STAGE) -> None:
    """Removes the stages that killed runs left behind.

    Args:
        directory: a directory whose lock this run holds.
        own: the stage in use.
        prefix: prefix of the names of stages.
    """
    owners.sweep(directory, prefix, keep=own, stale_seconds=_STALE_SECONDS)
