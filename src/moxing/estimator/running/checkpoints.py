"""What checkpoints a model's directory holds, here or in an object store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from moxing.engine import checkpoint
from moxing.engine.checkpoint import names
from moxing.engine.remote import local_path
from moxing.framework import file


def newest(model_dir: str) -> str | None:
    """The prefix of the newest whole checkpoint; None: there is none."""
    where = local_path(model_dir)
    if file.is_remote(where):
        return _newest_remote(where)
    if not os.path.isdir(where):
        return None
    found = checkpoint.newest(where)
    return None if found is None else found.prefix


def step(prefix: str | None) -> int:
    """The global step that a checkpoint's name tells; 0 where there is none."""
    return (names.step_of(prefix) or 0) if prefix else 0


def ended_with(prefix: str) -> int | None:
    """The max_steps of the training whose input had ended at this checkpoint; None: none had."""
    if file.is_remote(prefix):
        return None
    extra = checkpoint.read_extra(names.Checkpoint(prefix, names.step_of(prefix)))
    value = extra.get("input_ended_with_max_steps")
    return None if value is None else int(value)


@contextmanager
def at_hand(prefix: str) -> Iterator[str]:
    """In the block, the prefix of a checkpoint on this machine: of this one, or of a copy.

    Raises:
        CheckpointError: there is no such checkpoint.
    """
    if not file.is_remote(prefix):
        yield checkpoint.locate(prefix).prefix
        return
    folder, _, name = prefix.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="moxing-checkpoint-") as room:
        for entry in file.list_directory(folder):
            if entry.startswith(f"{name}."):
                file.copy(f"{folder}/{entry}", os.path.join(room, entry))
        yield checkpoint.locate(os.path.join(room, name)).prefix


def _newest_remote(url: str) -> str | None:
    if not file.is_directory(url):
        return None
    found = [
        entry.removesuffix(names.MANIFEST)
        for entry in file.list_directory(url)
        if entry.endswith(names.MANIFEST)
    ]
    best = max(found, key=lambda name: names.step_of(name) or 0, default=None)
    return None if best is None else f"{url.rstrip('/')}/{best}"
