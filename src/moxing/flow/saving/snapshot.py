"""A checkpoint as a folder: each variable has a folder with its bytes in the file `out`."""

from __future__ import annotations

import json
import os
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from moxing.engine.checkpoint import durable
from moxing.engine.checkpoint.saving import stage
from moxing.errors import CheckpointError, MoxValueError
from moxing.flow.saving import shapes
from moxing.flow.trace.variables import DONE_FILE as DONE

VALUES = "out"
DIGESTS = ".digests.json"  # The original's format has no such file, and ignores it.
_SHOWN = 20
_SYNCS_AT_ONCE = 16
_NONE: Mapping[str, bytes] = {}


class DamagedError(CheckpointError):
    """Files of a checkpoint are not those that were saved."""


def file_of(folder: str, name: str) -> str:
    """The path of a variable's values."""
    return os.path.join(folder, *name.split("/"), VALUES)


def compare(
    folder: str, sizes: dict[str, int], aliases: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Returns the variables that a checkpoint lacks, and a phrase for each of another size.

    Args:
        folder: the folder of the checkpoint.
        sizes: bytes of each variable, by name.
        aliases: names in the checkpoint, for variables that have another name there.
    """
    missing, wrong = [], []
    for name, size in sizes.items():
        try:
            found = os.path.getsize(file_of(folder, aliases.get(name, name)))
        except OSError:
            missing.append(name)
            continue
        if found != size:
            wrong.append(f"{name} ({found} bytes; the variable has {size})")
    return missing, wrong


def read(folder: str, name: str, dtype: Any) -> np.ndarray:
    """The values of a variable, flat."""
    return np.fromfile(file_of(folder, name), np.dtype(dtype).newbyteorder("<")).astype(
        dtype, copy=False
    )


def verify(folder: str, variables: Iterable[str], named: str) -> None:
    """Checks the values of variables against the digests of the save, if the checkpoint has them.

    Args:
        folder: the folder of the checkpoint.
        variables: their names; those that are not there are left out.
        named: the user's name for the folder.

    Raises:
        DamagedError: a file is damaged, or can't be read.
    """
    try:
        with open(os.path.join(folder, DIGESTS), encoding="utf-8") as stream:
            digests = json.load(stream)
        if not isinstance(digests, dict):
            raise ValueError("no object")
    except FileNotFoundError:
        return  # Another program wrote the checkpoint, or it was copied there by hand.
    except (ValueError, RecursionError):
        raise DamagedError(
            f"checkpoint {named} is damaged: its {DIGESTS} can't be read. Restore it from a copy,"
            " or delete that file to load the checkpoint unchecked."
        ) from None
    for name in variables:
        path = file_of(folder, name)
        if name in digests and os.path.isfile(path) and durable.digest(path) != digests[name]:
            raise DamagedError(
                f"checkpoint {named} is damaged: the values of {name} are not those that were"
                f" saved. If you replaced them, delete {named}/{DIGESTS}."
            )


def check_target(folder: str) -> None:
    """Raises an error if a checkpoint can't be written."""
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise MoxValueError(f"cannot save {folder}: there is no folder {parent}.")
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise MoxValueError(
            f"cannot save {folder}: there is something already. Save elsewhere or delete it."
        )


def write(
    folder: str, variables: Iterable[tuple[str, np.ndarray]], more: Mapping[str, bytes] = _NONE
) -> None:
    """Writes a checkpoint aside, syncs it, and renames it into place.

    Args:
        folder: the folder of the checkpoint.
        variables: their names and values.
        more: contents of other files, by name.

    Raises:
        CheckpointError: the disk or the file system refuses it; nothing is left of it.
    """
    try:
        _write(folder, variables, more)
    except OSError as error:
        raise CheckpointError(
            f"cannot save {folder}: {error.strerror or error}. Nothing is left of this save;"
            " earlier checkpoints are whole."
        ) from error


def copy(src: str, dst: str) -> None:
    """Copies a checkpoint aside, syncs the copy, and renames it into place.

    Raises:
        CheckpointError: the disk or the file system refuses it; nothing is left of the copy.
    """
    parent = os.path.dirname(os.path.abspath(dst))
    try:
        with stage.stage(parent, f".{os.path.basename(dst)}.saving-") as aside:
            shutil.copytree(src, aside, dirs_exist_ok=True)
            os.chmod(aside, 0o755)
            _publish(aside, dst)
    except (OSError, shutil.Error) as error:
        raise CheckpointError(f"cannot copy {src} to {dst}: {error}. Nothing is there.") from error


def _write(
    folder: str, variables: Iterable[tuple[str, np.ndarray]], more: Mapping[str, bytes]
) -> None:
    parent, prefix = (
        os.path.dirname(os.path.abspath(folder)),
        f".{os.path.basename(folder)}.saving-",
    )
    with stage.stage(parent, prefix) as aside:
        # Remains of killed saves are each as large as the model.
        stage.sweep(parent, aside, prefix)
        os.chmod(aside, 0o755)
        notes: dict[str, Any] = {}
        digests: dict[str, str] = {}
        for name, value in shapes.noting(variables, notes):
            target = file_of(aside, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            flat = np.ascontiguousarray(little).reshape(-1).view(np.uint8)
            with open(target, "wb") as stream:
                stream.write(flat.data)
            digests[name] = durable.worded(zlib.crc32(flat.data))
        durable.write(os.path.join(aside, DIGESTS), json.dumps(digests).encode())
        durable.write(os.path.join(aside, shapes.FILE), shapes.encoded(notes))
        for name, content in more.items():
            durable.write(os.path.join(aside, name), content)
        durable.write(os.path.join(aside, DONE), b"")
        _publish(aside, folder)


def _publish(aside: str, folder: str) -> None:
    """Syncs all files of a checkpoint that was written aside, and renames it into place."""
    # A disk writes files that are synced at once together, and each by itself otherwise.
    _at_once(durable.sync, ([file_of(aside, name)] for name in names(aside)))
    _at_once(durable.sync_directory, [base for base, _, _ in os.walk(aside)])
    os.rename(aside, folder)
    durable.sync_directory(os.path.dirname(os.path.abspath(folder)))


def _at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> None:
    """Calls `work` with each item, in several threads; raises the first error.

    A save may still run while the process ends. Python's pools then take no more work, and newer
    versions start no threads: this thread then does the rest.
    """
    left, lock, errors = iter(list(items)), threading.Lock(), list[BaseException]()

    def run() -> None:
        while not errors:
            with lock:
                item = next(left, None)
            if item is None:
                return
            try:
                work(item)
            except BaseException as error:
                errors.append(error)

    threads = []
    for _ in range(_SYNCS_AT_ONCE - 1):
        thread = threading.Thread(target=run, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    run()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def names(folder: str) -> Iterator[str]:
    """The names of the variables in a checkpoint."""
    for base, _, files in sorted(os.walk(folder)):
        if VALUES in files:
            yield os.path.relpath(base, folder)


def listed(variables: list[str]) -> str:
    """Words a list of names; of a long list, the first names and the number of the others."""
    more = f" and {len(variables) - _SHOWN} more" if len(variables) > _SHOWN else ""
    return ", ".join(variables[:_SHOWN]) + more
