"""Checkpoints in TensorFlow's own format: save, commit, verify, find, filter and restore."""

from __future__ import annotations

from moxing.engine.checkpoint.directory import ensure_directory, refuse_file, refuse_in_the_way
from moxing.engine.checkpoint.lock import Held, lock
from moxing.engine.checkpoint.manifest import read_extra, read_input
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.newest import newest
from moxing.engine.checkpoint.object_restorer import ObjectRestorer
from moxing.engine.checkpoint.restorer import Restorer
from moxing.engine.checkpoint.saver import Saver
from moxing.engine.checkpoint.source import choose, locate

__all__ = [
    "Checkpoint",
    "Held",
    "ObjectRestorer",
    "Restorer",
    "Saver",
    "choose",
    "ensure_directory",
    "locate",
    "lock",
    "newest",
    "read_extra",
    "read_input",
    "refuse_file",
    "refuse_in_the_way",
]
