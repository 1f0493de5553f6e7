"""Checkpoints on the disk and in stores; a store's has a local folder while it is used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from moxing.engine.remote.scratch import room
from moxing.errors import CheckpointError, MoxValueError
from moxing.flow.saving import places, shapes, snapshot
from moxing.flow.saving.snapshot import DIGESTS, DONE, VALUES
from moxing.framework import file
from moxing.framework.file import MoxFileCopyException, publish
from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

_NONE: Mapping[str, bytes] = {}


def check_target(path: str) -> None:
    """Raises an error if a checkpoint can't be written.

    The remains of a killed save to a store do not count; `write` replaces them.

    Raises:
        MoxValueError: the path is not empty, or has no parent.
        OSError: the store can't be read.
    """
    if not file.is_remote(path):
        snapshot.check_target(path)
        return
    names = file.list_directory(path) if file.is_directory(path) else []
    in_part = DONE not in names and any(name.startswith(publish.MARK) for name in names)
    if (names and not in_part) or file.is_file(path):
        raise MoxValueError(
            f"cannot save {path}: there is something already. Save elsewhere or delete it."
        )


def write(
    path: str, variables: Iterable[tuple[str, np.ndarray]], more: Mapping[str, bytes] = _NONE
) -> None:
    """Writes a checkpoint; returns once it is complete.

    Args:
        path: the checkpoint.
        variables: their names and values.
        more: contents of other files, by name.

    Raises:
        OSError: the disk or the store fails. Then no part of the checkpoint is there.
    """
    if not file.is_remote(path):
        snapshot.write(path, variables, more)
        return
    with room(tuning.staging_dir()) as aside:
        local = os.path.join(aside, "checkpoint")
        try:
            snapshot.write(local, variables, more)
        except CheckpointError as error:  # The error is about the local disk.
            raise CheckpointError(str(error).replace(local, f"{path} in {aside}")) from error
        publish.clear(path)
        publish.put(local, path, DONE)


@contextmanager
def here(path: str, names: Sequence[str] | None = None) -> Iterator[str]:
    """Yields a local folder with those files of a checkpoint that exist.

    Args:
        path: the checkpoint.
        names: the variables whose files are wanted; None for all.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged or, in a store, incomplete.
        OSError: the store can't be read.
    """
    if not file.is_remote(path):
        if not os.path.isdir(path):
            raise CheckpointError(f"there is no checkpoint {path}: no such folder.")
        if not os.path.exists(os.path.join(path, DONE)):
            TENSORFLOW.warning(
                "checkpoint %s has no %s: its save may have been cut short.", path, DONE
            )
        snapshot.verify(path, names if names is not None else snapshot.names(path), path)
        yield path
        return
    if not file.exists(f"{path}/{DONE}"):
        if not file.is_directory(path):
            raise CheckpointError(f"there is no checkpoint {path}: no such folder.")
        raise CheckpointError(
            f"checkpoint {path} has no {DONE}: its save was cut short, or goes on. If all of it is"
            f" there, put an empty file of that name into it."
        )
    with room(tuning.staging_dir()) as local:
        wanted = names if names is not None else _names(path)
        files = [f"{name}/{VALUES}" for name in wanted]
        files += [shapes.FILE] if names is None else [places.FILE]
        _bring(path, local, [*files, DONE, DIGESTS])
        snapshot.verify(local, wanted, path)
        yield local


def names(path: str) -> list[str]:
    """The names of the variables in a checkpoint; empty if there is no such folder.

    Raises:
        OSError: the store can't be read.
    """
    if file.is_remote(path):
        return _names(path) if file.is_directory(path) else []
    return list(snapshot.names(path))


def content(path: str, name: str) -> bytes | None:
    """Reads a file in a checkpoint's folder; None if there is none.

    Raises:
        OSError: the file or the store can't be read.
    """
    try:
        return file.read(f"{path}/{name}", binary=True)
    except FileNotFoundError:
        return None


def has_values(path: str) -> bool:
    """Whether a folder holds values, and no save of ours is cut short or at work there.

    Raises:
        OSError: the store can't be read.
    """
    if not file.is_directory(path):
        return False
    if file.is_remote(path) and any(
        name.startswith(publish.MARK) for name in file.list_directory(path)
    ):
        return False
    return bool(names(path))


def lost(path: str) -> list[str]:
    """The names of variables that a checkpoint was saved with, and whose values are gone.

    Raises:
        OSError: the store can't be read.
    """
    try:
        saved = json.loads(file.read(f"{path}/{DIGESTS}"))
    except (FileNotFoundError, ValueError):
        return []
    return sorted(set(saved) - set(names(path))) if isinstance(saved, dict) else []


def copy(src: str, dst: str) -> None:
    """Copies a checkpoint with all its files; returns once the copy is complete.

    Args:
        src: the checkpoint, local or in a store.
        dst: the new checkpoint, local or in a store.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged, or the disk fails.
        MoxValueError: there is something at `dst`.
        OSError: the store fails.
    """
    with room(tuning.staging_dir()) as aside:
        local = src
        if file.is_remote(src):
            local = os.path.join(aside, "checkpoint")
            publish.refuse_part(src)
            file.copy_parallel(src, local)
        with here(local):  # Verifies it.
            check_target(dst)
            if file.is_remote(dst):
                publish.clear(dst)
                publish.put(local, dst, DONE)
            else:
                snapshot.copy(local, dst)


def remove(path: str) -> None:
    """Removes a checkpoint, its `snapshot_done` first; logs a warning if that fails."""
    try:
        if file.exists(f"{path}/{DONE}"):
            file.remove(f"{path}/{DONE}")
        file.remove(path, recursive=True)
    except OSError as error:
        TENSORFLOW.warning("Could not remove %s, which is not the best any more: %s.", path, error)


def _names(url: str) -> list[str]:
    found = file.list_directory(url, recursive=True, skip_dir=True)
    return [name.removesuffix(f"/{VALUES}") for name in found if name.endswith(f"/{VALUES}")]


def _bring(url: str, local: str, names: Iterable[str]) -> None:
    """Copies the files that exist."""
    try:
        file.copy_files([(f"{url}/{name}", os.path.join(local, name)) for name in names])
    except MoxFileCopyException as error:
        # Files are asked for by name, since a store may hold files that it does not list yet.
        if any(file.exists(failure.src) for failure in error.failed):
            raise
