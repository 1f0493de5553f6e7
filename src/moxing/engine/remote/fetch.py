"""Copies the newest complete checkpoint of a remote directory to the local disk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from moxing.engine.checkpoint import manifest, pointer
from moxing.engine.checkpoint.names import INDEX, MANIFEST, META, POINTER, prefix_of
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.restoring.newest import candidates
from moxing.engine.remote.contents import listing
from moxing.engine.wording.option_names import option
from moxing.engine.wording.record_files import KEPT
from moxing.errors import CheckpointError
from moxing.framework import file
from moxing.framework.file import MoxFileCopyException
from moxing.logs import TENSORFLOW

_THREADS = 16


@dataclass
class Fetched:
    """The contents of a remote directory.

    Attributes:
        found: name of the newest complete checkpoint, which was copied; None if none is complete.
        copied: names of all checkpoints that were copied.
        damaged: names of incomplete checkpoints.
        commits: the manifests, by the names of their checkpoints.
        folders: names of the directories inside.
    """

    found: str | None = None
    copied: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)
    commits: dict[str, manifest.Manifest] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def fetch(remote: str, local: str, every: bool = False) -> Fetched:
    """Copies the newest complete checkpoint of `remote` into the empty directory `local`.

    The newest checkpoint is found as in a local directory, and damaged checkpoints are skipped with
    a warning. If no checkpoint is complete, all are copied, so that a look into `local` finds the
    same errors as a look into `remote`.

    Args:
        remote: a directory of a store.
        local: the directory to copy to.
        every: whether all complete checkpoints are copied.

    Raises:
        OSError: the store can't be read.
    """
    names = listing(remote)
    result = Fetched(folders=[name for name, changed in names.items() if changed is None])
    _bring_outline(remote, local, names)
    result.commits = {os.path.basename(p): record for p, record in manifest.manifests(local)}
    reasons: list[str] = []
    for prefix in candidates(local, pointer.read(local)):
        name = os.path.basename(prefix)
        record = result.commits.get(name)
        _bring(remote, local, _data(name, record, names))
        why = verify.fault(os.path.join(local, name))
        if why is None:
            result.found = result.found or name
            result.copied.add(name)
            if not every:
                break
            continue
        result.damaged.add(name)
        reasons.append(f"{remote}/{name}: {why}")
    if result.found is not None:
        if reasons:
            TENSORFLOW.warning("Skipped: %s. Using %s.", "; ".join(reasons), result.found)
        _leave_only(local, result.copied)
    _bring(remote, local, [name for name in KEPT if names.get(name) is not None])
    return result


def fetch_path(remote: str, local: str, whole: bool) -> str:
    """Copies the checkpoint of a user's `checkpoint_path` into `local`, and returns its path there.

    Args:
        remote: the `checkpoint_path`.
        local: an empty directory.
        whole: whether to copy all files; else only those that tell the checkpoint's name.

    Raises:
        CheckpointError: nothing is there.
        OSError: the store can't be read.
    """
    if file.is_directory(remote):
        if whole:
            fetch(remote, local)
        else:
            _bring_outline(remote, local, listing(remote))
        return local
    parent, _, last = remote.rpartition("/")
    prefix = prefix_of(last)
    names = [name for name, changed in listing(parent).items() if changed is not None]
    wanted = [name for name in names if prefix_of(name) == prefix]
    if not wanted:
        raise CheckpointError(
            f"No checkpoint at {option('checkpoint_path')} {remote!r}. {_contents(parent, names)}"
        )
    _bring(parent, local, [name for name in wanted if whole or name.endswith(INDEX)])
    return os.path.join(local, last)


def _contents(parent: str, names: list[str]) -> str:
    """A sentence that lists a directory's checkpoints, or else its files."""
    prefixes = sorted({prefix_of(name) for name in names if name.endswith(INDEX)})
    listed = prefixes or sorted(names)
    if not listed:
        return f"{parent} holds no files."
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    what = "the checkpoints " if prefixes else ""
    return f"{parent} holds {what}{', '.join(listed[:5])}{more}."


def _bring_outline(remote: str, local: str, names: Mapping[str, int | None]) -> None:
    """Copies the files that list checkpoints: the pointer, manifests and indexes."""
    files = {name for name, changed in names.items() if changed is not None}
    wanted = {n for n in files if n.endswith((MANIFEST, INDEX)) and not n.startswith(".")}
    _bring(remote, local, {POINTER, *wanted})
    target = pointer.read(local)
    if target is not None and target.fault is None:
        # A store may hold files that it does not list yet.
        listed = {os.path.basename(prefix) for prefix in (target.newest, *target.listed)}
        _bring(remote, local, {n + s for n in listed for s in (MANIFEST, INDEX)} - wanted)
    for name in os.listdir(local):
        changed = names.get(name)
        if changed:
            os.utime(os.path.join(local, name), ns=(changed, changed))


def _data(
    name: str, record: manifest.Manifest | None, names: Mapping[str, int | None]
) -> Iterable[str]:
    """Names of a checkpoint's files that `_bring_outline` does not copy."""
    if record is not None:
        return {name + suffix for suffix in (*record.files, META)}
    return [other for other in names if prefix_of(other) == name]


def _bring(remote: str, local: str, names: Iterable[str]) -> None:
    """Copies the files that exist in `remote` and not in `local`."""
    missing = [name for name in names if not os.path.exists(os.path.join(local, name))]
    pairs = [(f"{remote}/{name}", os.path.join(local, name)) for name in missing]
    try:
        file.copy_files(pairs, _THREADS)
    except MoxFileCopyException as error:
        lost = [failure for failure in error.failed if file.exists(failure.src)]
        if lost:
            raise


def _leave_only(local: str, copied: Collection[str]) -> None:
    """Removes the listings of all other checkpoints, and a pointer to one of them."""
    for name in os.listdir(local):
        if name != POINTER and prefix_of(name) not in copied:
            with suppress(IsADirectoryError, PermissionError):
                os.remove(os.path.join(local, name))
    target = pointer.read(local)
    if target is not None and (target.fault or os.path.basename(target.newest) not in copied):
        os.remove(target.path)
