"""`flow.train.CheckPoint`: a folder for each variable, with its bytes in the file `out`."""

from __future__ import annotations

import datetime
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from moxing.engine.checkpoint import durable
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError, shown
from moxing.flow import session
from moxing.logs import TENSORFLOW

DONE, VALUES = "snapshot_done", "out"
_SHOWN = 20


class CheckPoint:
    """Gives the variables of the session values, and saves them."""

    def init(self) -> None:
        """Gives every variable its first value."""
        current = session.default()
        current.in_order(lambda native: (current.initialize(native), current.share(native)))
        current.ready = True

    def load(self, path: str, partial: bool = False) -> None:
        """Gives every variable its value in a checkpoint.

        Args:
            path: the checkpoint's folder.
            partial: give variables that are not in it their first values, instead of raising.

        Raises:
            CheckpointError: variables are missing or have other sizes; all are named.
        """
        folder, current = _path(path), session.default()
        current.start()
        wanted = current.variables.by_name
        if not os.path.isdir(folder):
            raise CheckpointError(f"there is no checkpoint {folder}: no such folder.")
        if not os.path.exists(os.path.join(folder, DONE)):
            TENSORFLOW.warning(
                "checkpoint %s has no %s: its save may have been cut short.", folder, DONE
            )
        missing, wrong = compare(folder, {n: _bytes(v) for n, v in wanted.items()})
        if wrong or (missing and not partial):
            raise CheckpointError(_complaint(folder, missing, wrong))

        def work(native: Any) -> None:
            current.initialize(native, missing)
            for name in wanted:
                if name not in missing:
                    value = read(folder, name, wanted[name].dtype.base_dtype.as_numpy_dtype)
                    current.assign(native, name, value.reshape(wanted[name].shape.as_list()))
            current.share(native)

        current.in_order(work)
        current.ready = True

    def save(self, path: str) -> None:
        """Saves every variable; when it returns, the checkpoint is on the disk.

        Args:
            path: a folder that is not there, or is empty; its parent must be there.

        Raises:
            MoxValueError: there is something at `path`, or no parent.
            CheckpointError: no variable has a value yet.
        """
        folder, current = _path(path), session.default()
        check_target(folder)
        current.start()
        if not current.ready:
            raise CheckpointError("there is nothing to save: call CheckPoint().init() or .load().")

        def work(native: Any) -> None:
            names = current.variables.by_name
            write(folder, ((name, current.value(native, name)) for name in names))

        current.in_order(work)


def _path(path: Any) -> str:
    if not isinstance(path, str):
        raise MoxTypeError(f"a checkpoint's path is a str, not {shown(path)}.")
    if not path or "\0" in path:
        raise MoxValueError(f"{shown(path)} is no path of a checkpoint.")
    return path.rstrip("/") or "/"


def _bytes(variable: Any) -> int:
    return int(np.prod(variable.shape.as_list(), dtype=np.int64)) * variable.dtype.base_dtype.size


def file_of(folder: str, name: str) -> str:
    """Where the values of a variable are."""
    return os.path.join(folder, *name.split("/"), VALUES)


def compare(folder: str, sizes: dict[str, int]) -> tuple[list[str], list[str]]:
    """The variables that a checkpoint lacks, and a phrase for each of another size."""
    missing, wrong = [], []
    for name, size in sizes.items():
        try:
            found = os.path.getsize(file_of(folder, name))
        except OSError:
            missing.append(name)
            continue
        if found != size:
            wrong.append(f"{name} ({found} bytes; the variable has {size})")
    return missing, wrong


def _complaint(folder: str, missing: list[str], wrong: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"it lacks {_listed(missing)}")
    if wrong:
        parts.append(f"of another size are {_listed(wrong)}")
    hint = ""
    if not wrong:
        hint = " load(path, partial=True) gives those that are missing their first values."
    return f"checkpoint {folder} does not fit the jobs: {'; '.join(parts)}.{hint}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def read(folder: str, name: str, dtype: Any) -> np.ndarray:
    """The values of a variable, flat."""
    return np.fromfile(file_of(folder, name), np.dtype(dtype).newbyteorder("<")).astype(
        dtype, copy=False
    )


def check_target(folder: str) -> None:
    """Raises where a checkpoint can't be written."""
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise MoxValueError(f"cannot save {folder}: there is no folder {parent}.")
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise MoxValueError(
            f"cannot save {folder}: there is something already. Save elsewhere or delete it."
        )


def write(folder: str, variables: Iterable[tuple[str, np.ndarray]]) -> None:
    """Writes a checkpoint aside, syncs it, and renames it into place."""
    parent = os.path.dirname(os.path.abspath(folder))
    aside = tempfile.mkdtemp(prefix=f".{os.path.basename(folder)}.saving-", dir=parent)
    try:
        os.chmod(aside, 0o755)
        for name, value in variables:
            target = file_of(aside, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            durable.write(target, np.ascontiguousarray(little).data.cast("B"))  # type: ignore
        durable.write(os.path.join(aside, DONE), b"")
        for base, _, _ in os.walk(aside):
            durable.sync_directory(base)
        os.rename(aside, folder)
        durable.sync_directory(parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def names(folder: str) -> Iterator[str]:
    """The names of the variables in a checkpoint."""
    for base, _, files in sorted(os.walk(folder)):
        if VALUES in files:
            yield os.path.relpath(base, folder)


class SimpleCheckPointManager:
    """Checkpoints below one folder, named by their time."""

    def __init__(self, root_path: str, prefix: str = "snapshot_") -> None:
        """Args: root_path: made if it is not there. prefix: of the checkpoints' names."""
        self._root, self._prefix = _path(root_path), prefix
        self._checkpoint = CheckPoint()

    def list_checkpoints(self) -> list[str]:
        """Names of the complete checkpoints, oldest first."""
        if not os.path.isdir(self._root):
            return []
        return sorted(
            name
            for name in os.listdir(self._root)
            if name.startswith(self._prefix)
            and os.path.exists(os.path.join(self._root, name, DONE))
        )

    def latest_checkpoint(self) -> str | None:
        """The newest complete checkpoint's name."""
        return next(reversed(self.list_checkpoints()), None)

    def initialize_or_restore(self) -> None:
        """Loads the newest checkpoint, or gives variables their first values."""
        newest = self.latest_checkpoint()
        if newest is None:
            self._checkpoint.init()
        else:
            self._checkpoint.load(os.path.join(self._root, newest))

    def save(self) -> None:
        """Saves under a name of its own."""
        os.makedirs(self._root, exist_ok=True)
        stamp = datetime.datetime.now().strftime("%Y%m%d_%H%M%S_%f")
        self._checkpoint.save(os.path.join(self._root, self._prefix + stamp))
