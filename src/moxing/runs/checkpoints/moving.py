"""Copies checkpoints to other folders and stores, and removes them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from moxing.engine.checkpoint import durable, manifest, pointer
from moxing.engine.checkpoint.directory import ensure_directory
from moxing.engine.checkpoint.lock import lock
from moxing.engine.checkpoint.names import (
    INDEX,
    MANIFEST,
    is_single_file,
    prefix_of,
    present,
)
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.saving import stage
from moxing.engine.checkpoint.saving.commit import remove as remove_files
from moxing.engine.remote import placing
from moxing.engine.remote.at_hand import at_hand
from moxing.engine.remote.contents import listing
from moxing.engine.remote.lease import Lease
from moxing.errors import CheckpointError, MoxRuntimeError, MoxValueError
from moxing.framework import file
from moxing.runs.checkpoints.listing import FLOW_DONE, listed
from moxing.runs.checkpoints.source import is_of_flow

_THREADS = 16
_TABLE = bytes.fromhex("57fb808b247547db")  # At the end of a table of LevelDB.


def copy(src: str, dst: str) -> str:
    """Copies a checkpoint into a folder, whole or not at all; returns its new prefix.

    The copy becomes the newest checkpoint of the folder. Nothing but the checkpoint is copied:
    neither metrics nor the report.

    Args:
        src: a prefix, a file of a checkpoint, or a folder (its newest checkpoint; or a checkpoint
            of a flow program), on the disk or in a store.
        dst: a folder, on the disk or in a store.

    Raises:
        CheckpointError: there is no whole checkpoint at `src`.
        MoxValueError: `dst` has a checkpoint of that name.
        MoxRuntimeError: a run trains in `dst`.
        OSError: the disk or the store fails.
    """
    if is_of_flow(src):
        from moxing.flow.saving import storage

        target = os.path.join(dst, os.path.basename(src.rstrip("/")))
        if not file.is_remote(dst):
            ensure_directory(dst, "the folder to copy to")
        storage.copy(src, target)
        return target
    with at_hand(src, "the path") as found:
        if is_single_file(found.prefix):
            raise CheckpointError(
                f"{src} is a checkpoint of TensorFlow's V1 format, one file: copy that file."
            )
        name = os.path.basename(found.prefix)
        if file.exists(f"{dst}/{name}{INDEX}"):
            raise MoxValueError(f"There is a checkpoint {dst}/{name} already. Remove it first.")
        if file.is_remote(dst):
            lease = Lease(dst.rstrip("/"), lost=lambda: None)
            lease.take()
            try:
                _upload(found.prefix, dst.rstrip("/"), name)
            finally:
                lease.release()
        else:
            ensure_directory(dst, "the folder to copy to")
            with lock(dst), stage.stage(dst) as aside:
                _place(found.prefix, dst, name, aside)
    return os.path.join(dst, name)


def remove(prefixes: Sequence[str]) -> list[str]:
    """Removes checkpoints; returns the prefixes that were removed.

    The file named `checkpoint` names the newest of the rest afterwards.

    Args:
        prefixes: prefixes, files of checkpoints, or folders that are checkpoints of flow programs,
            on the disk.

    Raises:
        CheckpointError: there is no such checkpoint; then nothing is removed.
        MoxValueError: a prefix is in a store.
        MoxRuntimeError: a run trains in the folder.
        OSError: the disk fails.
    """
    wanted = list(
        dict.fromkeys(
            path.rstrip("/") if is_of_flow(path) else prefix_of(path) for path in prefixes
        )
    )
    for prefix in wanted:
        if file.is_remote(prefix):
            raise MoxValueError(f"{prefix}: remove the files of a store with mox.file.remove.")
        if not is_of_flow(prefix) and not present(prefix) and manifest.read(prefix) is None:
            raise CheckpointError(_nothing_at(prefix))
        if is_single_file(prefix) and not _is_table(prefix):
            raise CheckpointError(
                f"{prefix} is a file, and no checkpoint of TensorFlow. Nothing was removed."
            )
    for folder in dict.fromkeys(os.path.dirname(prefix) or "." for prefix in wanted):
        with lock(folder), stage.stage(folder) as aside:
            for prefix in wanted:
                if (os.path.dirname(prefix) or ".") == folder:
                    _remove(prefix)
            _point(folder, aside)
    return wanted


def _is_table(path: str) -> bool:
    """Whether a file ends as those of TensorFlow's V1 format do, which are tables of LevelDB."""
    with open(path, "rb") as stream:
        stream.seek(max(0, os.path.getsize(path) - len(_TABLE)))
        return stream.read() == _TABLE


def _nothing_at(prefix: str) -> str:
    """Says that there is no checkpoint, and of a folder which checkpoints it holds."""
    prefix = prefix.rstrip("/")
    inside = [f"{prefix}/{one.name}" for one in listed(prefix)] if os.path.isdir(prefix) else []
    if not inside:
        return f"There is no checkpoint {prefix}. Nothing was removed."
    # A folder stands for its newest checkpoint only where nothing is lost by a misunderstanding.
    return (
        f"{prefix} is a folder of checkpoints. Name those to remove, such as {inside[0]}; `mox"
        f" checkpoints {prefix}` lists them. Nothing was removed."
    )


def _remove(prefix: str) -> None:
    if is_of_flow(prefix):
        os.remove(f"{prefix}/{FLOW_DONE}")
        shutil.rmtree(prefix)
    elif is_single_file(prefix):
        os.remove(prefix)
    else:
        remove_files(prefix)


def _place(src: str, folder: str, name: str, aside: str) -> None:
    """Copies a checkpoint's files into a stage, then renames them into place, the manifest last."""
    final, staged = os.path.join(folder, name), os.path.join(aside, name)
    suffixes = [*placing.content(src), *placing.there(src, MANIFEST)]
    file.copy_files([(src + suffix, staged + suffix) for suffix in suffixes], _THREADS)
    if why := verify.fault(staged):
        raise MoxRuntimeError(f"The copy of {src} in {folder} is not whole: {why}.")
    durable.sync([staged + suffix for suffix in suffixes])
    for suffix in suffixes:
        os.replace(staged + suffix, final + suffix)
    durable.sync_directory(folder)
    _point(folder, aside, last=name)


def _point(folder: str, aside: str, last: str | None = None) -> None:
    """Rewrites a folder's pointer file: listed and committed checkpoints, `last` as the newest."""
    before = pointer.read(folder)
    listed = before.listed if before is not None and before.fault is None else ()
    names = [os.path.basename(prefix) for prefix in listed if present(prefix)]
    committed = [os.path.basename(prefix) for prefix, _ in reversed(manifest.manifests(folder))]
    names += [name for name in committed if name not in names]
    if last is not None:
        names = [name for name in names if name != last] + [last]
    if names:
        pointer.write(folder, names, aside)
    elif before is not None:
        os.remove(before.path)


def _upload(src: str, folder: str, name: str) -> None:
    """Copies a checkpoint into a store, and points to it."""
    placing.upload(src, folder)
    names = sorted(
        other.removesuffix(MANIFEST) for other in listing(folder) if other.endswith(MANIFEST)
    )
    placing.point(folder, [other for other in names if other != name] + [name])
