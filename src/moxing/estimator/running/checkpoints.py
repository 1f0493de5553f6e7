"""Finds the checkpoints in a model's directory, local or in an object store."""

from __future__ import annotations

import os

from moxing.engine.checkpoint import names
from moxing.engine.checkpoint.lock import is_held
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest as newest_in
from moxing.engine.remote.path_alias import local_path
from moxing.engine.reporting.records import run_file
from moxing.engine.wording.record_files import RUN
from moxing.framework import file


def newest(model_dir: str, quiet: bool = False) -> str | None:
    """Returns the prefix of the newest complete checkpoint; None: there is none.

    A warning names the damaged checkpoints that are newer, unless `quiet`.
    """
    where = local_path(model_dir)
    if file.is_remote(where):
        return _newest_remote(where)
    if not os.path.isdir(where):
        return None
    found = newest_in(where, quiet)
    return None if found is None else found.prefix


def step(prefix: str | None) -> int:
    """Returns the global step in a checkpoint's name; 0 if there is no checkpoint or no step."""
    return (names.step_of(prefix) or 0) if prefix else 0


def newest_step(model_dir: str) -> int:
    """Returns the global step of the newest complete checkpoint; 0 if there is none."""
    return step(newest(model_dir, quiet=True))


def ended_with(prefix: str) -> int | None:
    """Returns the max_steps of the training whose input ended at this checkpoint, or None.

    A checkpoint in an object store does not say, and gives None.
    """
    if file.is_remote(prefix):
        return None
    extra = read_extra(names.Checkpoint(prefix, names.step_of(prefix)))
    value = extra.get("input_ended_with_max_steps")
    return None if value is None else int(value)


def ended_early(model_dir: str, prefix: str, max_steps: int) -> bool:
    """Whether the training to max_steps ended by itself at this checkpoint, and is not running now.

    Hooks can do so. A training that a signal or an error ended is expected to resume.
    """
    where = local_path(model_dir)
    if not file.is_remote(where) and is_held(where):
        return False
    try:
        facts = run_file.decode(file.read(f"{where}/{RUN}", binary=True))
    except OSError:
        return False
    return (
        facts is not None
        and facts["job"].get("max_steps") == max_steps
        and facts["outcome"].get("end") == run_file.FINISHED
        and facts["outcome"].get("last_step") == step(prefix)
    )


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
