"""Finds the newest undamaged checkpoint of a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from moxing.engine.checkpoint import manifest, pointer
from moxing.engine.checkpoint.names import (
    INDEX,
    MANIFEST,
    STAGE,
    Checkpoint,
    indexed_prefixes,
    present,
    step_of,
    without_index,
)
from moxing.engine.checkpoint.restoring import verify
from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW


def newest(directory: str | Path, quiet: bool = False) -> Checkpoint | None:
    """The newest undamaged checkpoint of a log directory; None if there are no checkpoints.

    The pointer file decides if it was written after the last commit, for example by a user who goes
    back to an older step. Otherwise the last commit comes first, then checkpoints of other
    programs. Damaged checkpoints are skipped; one warning names them and the reasons.

    Args:
        directory: the log directory.
        quiet: leaves the warning out: the run that starts from the checkpoint says it.

    Raises:
        CheckpointError: there are checkpoints but all are damaged, or have lost their `.index`. A
            run that started from scratch here would overwrite one that can perhaps be repaired.
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
            _warn([] if quiet else skipped, f"Using {prefix}.")
            return Checkpoint(prefix, step_of(prefix))
        skipped.append(f"{prefix}: {why}")
        remains = remains or present(prefix)
    for prefix in _values_alone(root):
        remains = True
        if not any(one.startswith(f"{prefix}:") for one in skipped):
            skipped.append(f"{prefix}: {os.path.basename(prefix)}{INDEX} is missing")
    if remains:
        raise CheckpointError(
            f"No checkpoint in {root} is whole. {_list(skipped)}. Restore the files from a copy; to"
            " do without them, remove them or choose another directory."
        )
    _warn(
        [] if quiet else skipped, f"There is no other checkpoint in {root}, nor the values of one."
    )
    return None


def newest_unread(directory: str) -> Checkpoint | None:
    """The checkpoint that `newest` would try first, of which no file is read; None: there is none.

    Args:
        directory: the log directory, which may be missing.
    """
    if not os.path.isdir(directory):
        return None
    prefix = next(candidates(directory, pointer.read(directory)), None)
    return None if prefix is None else Checkpoint(prefix, step_of(prefix))


def _values_alone(root: str) -> list[str]:
    """The prefixes of checkpoints whose values are there without their index.

    Values of a first commit that was cut off are left out: they lie beside a stage, without a
    manifest, and no finished checkpoint is lost with them.
    """
    was_cut = any(name.startswith(STAGE) for name in os.listdir(root))
    return [
        prefix for prefix in without_index(root) if not was_cut or os.path.exists(prefix + MANIFEST)
    ]


def candidates(root: str, target: pointer.Pointer | None) -> Iterator[str]:
    """Prefixes in `root` that may be checkpoints, in the order in which to try them.

    Args:
        root: the directory.
        target: the directory's pointer file; None: there is none.
    """
    seen: set[str] = set()
    for prefix in _ranked(root, target):
        if prefix not in seen:
            seen.add(prefix)
            yield prefix


def _ranked(root: str, target: pointer.Pointer | None) -> Iterator[str]:
    """The prefixes of `candidates`, in the same order; some prefixes occur twice."""
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
    """Whether the pointer was written after the last commit.

    If not, the process died after the commit and before it wrote the pointer, so the commit is
    newer. The pointer is later if it lists the commit; otherwise the files' times decide. Stores
    tell times in whole seconds: within one second the commit is taken to be later, so that
    none is lost.
    """
    if last_commit in target.listed:
        return True
    try:
        return target.written > os.stat(last_commit + MANIFEST).st_mtime_ns
    except OSError:
        return True


def _warn(skipped: list[str], outcome: str) -> None:
    if skipped:
        TENSORFLOW.warning("%s. %s", _list(skipped), outcome)


def _list(skipped: list[str]) -> str:
    return "Skipped: " + "; ".join(skipped)
