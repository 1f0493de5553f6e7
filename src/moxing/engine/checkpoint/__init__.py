"""Checkpoints in TensorFlow's own format: save, commit, verify, find, filter and restore."""

from __future__ import annotations

from moxing.engine.checkpoint.directory import ensure_directory, refuse_file, refuse_in_the_way
from moxing.engine.checkpoint.lock import Held, is_held, lock
from moxing.engine.checkpoint.manifest import read_extra, read_input
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.restoring.object_restorer import ObjectRestorer
from moxing.engine.checkpoint.restoring.restorer import Foreign, Restorer
from moxing.engine.checkpoint.restoring.source import choose, locate
from moxing.engine.checkpoint.saving.saver import Saver

__all__ = [
    "Checkpoint",
    "Foreign",
    "Held",
    "ObjectRestorer",
    "Restorer",
    "Saver",
    "choose",
    "ensure_directory",
    "is_held",
    "locate",
    "lock",
    "newest",
    "read_extra",
    "read_input",
    "refuse_file",
    "refuse_in_the_way",
]
