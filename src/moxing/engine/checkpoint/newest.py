"""Finds the newest checkpoint of a directory that is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from moxing.engine.checkpoint import manifest, pointer, verify
from moxing.engine.checkpoint.names import MANIFEST, Checkpoint, indexed_prefixes, present, step_of
from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW


def newest(directory: str | Path) -> Checkpoint | None:
    """The newest checkpoint of a log directory that is whole; None where it holds none.

    The pointer file decides where it was written after the last commit, as by a user who goes back
    to an older step. Else the last commit counts, then checkpoints of other programs. What is
    damaged is skipped, with one warning that says what and why.

    Raises:
        CheckpointError: there are checkpoints but none is whole. A run that started afresh here
            would take the place of one that may still be saved.
    """
    root = os.fspath(directory)
    if not os.path.isdir(root):
        return None
    target = pointer.read(root)
    skipped = [f"{target.path} {target.fault}"] if target is not None and target.fault else []
    remains = False
    for prefix in candidates(root, target):
        why = verify.fault(prefix)
        if why is None:
            _warn(skipped, f"Using {prefix}.")
            return Checkpoint(prefix, step_of(prefix))
        skipped.append(f"{prefix}: {why}")
        remains = remains or present(prefix)
    if remains:
        raise CheckpointError(
            f"No checkpoint in {root} is whole. {_list(skipped)}. Restore the files from a copy; to"
            " do without them, remove them or choose another directory."
        )
    _warn(skipped, f"There is no other checkpoint in {root}.")
    return None


def candidates(root: str, target: pointer.Pointer | None) -> Iterator[str]:
    """Prefixes in `root` that may be checkpoints, the likeliest newest first.

    Args:
        root: the directory.
        target: its pointer.
    """
    seen: set[str] = set()
    for prefix in _ranked(root, target):
        if prefix not in seen:
            seen.add(prefix)
            yield prefix


def _ranked(root: str, target: pointer.Pointer | None) -> Iterator[str]:
    """Prefixes that may be checkpoints, the likeliest newest first, some of them twice."""
    committed = [prefix for prefix, _ in manifest.manifests(root)]
    if target is not None and target.fault is None:
        if not committed or _is_later(target, committed[0]):
            yield target.newest
        yield from committed
        yield target.newest
        yield from (prefix for prefix in reversed(target.listed) if present(prefix))
    else:
        yield from committed
    yield from indexed_prefixes(root)


def _is_later(target: pointer.Pointer, last_commit: str) -> bool:
    """Whether the pointer's writer knew of the last commit.

    If not, the process died between its commit and the pointer, and the commit is the newer one.
    Times tell, unless the files were copied without them: then the pointer's own list does.
    """
    if last_commit in target.listed:
        return True
    try:
        return target.written >= os.stat(last_commit + MANIFEST).st_mtime_ns
    except OSError:
        return True


def _warn(skipped: list[str], outcome: str) -> None:
    if skipped:
        TENSORFLOW.warning("%s. %s", _list(skipped), outcome)


def _list(skipped: list[str]) -> str:
    return "Skipped: " + "; ".join(skipped)
