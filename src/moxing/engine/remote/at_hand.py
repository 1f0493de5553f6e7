"""Brings the checkpoint that a user names to the local disk, for as long as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.source import locate
from moxing.engine.remote.fetch import fetch_path
from moxing.engine.remote.scratch import room
from moxing.engine.wording import option_names
from moxing.framework import file
from moxing.framework.file.configuration import tuning


@contextmanager
def at_hand(path: str, called: str = "checkpoint_path") -> Iterator[Checkpoint]:
    """Yields the whole checkpoint that a path means, on the local disk.

    Args:
        path: a folder (its newest checkpoint), a prefix, or a file of a checkpoint; on the disk or
            in a store. A checkpoint of a store is copied, and the copy is removed afterwards.
        called: the name of the path in messages.

    Raises:
        CheckpointError: there is no whole checkpoint at the path.
    """
    remote = file.is_remote(path)
    with room(tuning.staging_dir()) if remote else nullcontext() as folder:
        with option_names.spoken({"checkpoint_path": called}):
            found = locate(fetch_path(path, folder, whole=True) if folder else path)
        yield found
