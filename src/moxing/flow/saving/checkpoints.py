"""`flow.train.CheckPoint`: initializes, loads and saves the variables of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from moxing.errors import CheckpointError, MoxTypeError, MoxValueError, shown
from moxing.flow.runtime import session
from moxing.flow.saving import places, snapshot, storage, unnamed
from moxing.framework.file import urls


class CheckPoint:
    """Initializes, loads and saves the variables of the session."""

    def init(self) -> None:
        """Gives every variable its first value."""
        current = session.default()
        current.in_order(lambda native: (current.initialize(native), current.share(native)))
        current.ready = True

    def load(self, path: str, partial: bool = False) -> None:
        """Gives every variable its value in a checkpoint.

        Train jobs that have made no step yet go on behind the records that they took before the
        checkpoint was saved. In a checkpoint of the original, RMSProp's mean squares are missing;
        they start at 0, as in the original.

        Args:
            path: the checkpoint's folder, local or in a store.
            partial: whether variables that the checkpoint lacks get their initial values; else an
                error.

        Raises:
            CheckpointError: variables are missing or have other sizes; all are named. Or there is
                no whole checkpoint at `path`.
            OSError: the store can't be read.
        """
        folder, current = checked_path(path), session.default()
        current.start()
        wanted = current.variables.by_name
        found = unnamed.aliases(
            wanted,
            lambda: storage.names(folder),
            current.variables.originals,
            lambda name: storage.content(folder, name),
            snapshot.DIGESTS,
            folder,
        )
        with storage.here(folder, [found.get(name, name) for name in wanted]) as local:
            sizes = {name: _bytes(variable) for name, variable in wanted.items()}
            missing, wrong = snapshot.compare(local, sizes, found)
            needed = [n for n in missing if not current.variables.is_kept_here_only(n)]
            if wrong or (needed and not partial):
                raise CheckpointError(_complaint(folder, needed, wrong))
            taken = places.read(local, folder)

            def work(native: Any) -> None:
                current.initialize(native, missing)
                for group in current.grouped(name for name in wanted if name not in missing):
                    values = {}
                    for name in group:
                        dtype = wanted[name].dtype.base_dtype.as_numpy_dtype
                        value = snapshot.read(local, found.get(name, name), dtype)
                        values[name] = value.reshape(wanted[name].shape.as_list())
                    current.assign(native, values)
                current.share(native)
                current.readers.go_on(native, taken)

            current.in_order(work)
        current.ready = True

    def save(self, path: str) -> None:
        """Saves every variable; when it returns, the checkpoint is on the disk, or in the store.

        Variables of layers without a name are saved under the names that the original looks for.

        A checkpoint for a store is first on the local disk, in mox.file's folder of temporary
        files. `snapshot_done` is uploaded last.

        Args:
            path: a folder that does not exist or is empty; on a disk, its parent must exist.

        Raises:
            MoxValueError: `path` is not empty, or has no parent.
            CheckpointError: no variable has a value yet, or the disk can't be written.
            OSError: the store fails. Then it has no part of the checkpoint.
        """
        save(path)


def save(path: str, more: Mapping[str, bytes] | None = None) -> None:
    """Saves every variable of the session, as `CheckPoint.save`.

    Args:
        path: the checkpoint.
        more: contents of other files in its folder, by name.
    """
    folder, current = checked_path(path), session.default()
    storage.check_target(folder)
    current.start()
    if not current.ready:
        raise CheckpointError("there is nothing to save: call CheckPoint().init() or .load().")

    def work(native: Any) -> None:
        names = current.variables.by_name
        there = unnamed.written(names, current.variables.originals)
        taken = current.readers.places()
        files = dict(more or {})
        if (told := unnamed.encoded(there)) is not None:
            files[unnamed.FILE] = told
        if taken:
            files[places.FILE] = places.encoded(taken)
        with current.saving():
            values = current.values(native, names)
            storage.write(folder, ((n, v) for name, v in values for n in there[name]), files)

    current.in_order(work)


def checked_path(path: Any) -> str:
    """Returns the user's path of a checkpoint.

    Raises:
        MoxTypeError, MoxValueError: the value is no path.
    """
    if not isinstance(path, str):
        raise MoxTypeError(f"a checkpoint's path is a str, not {shown(path)}.")
    if not path or "\0" in path:
        raise MoxValueError(f"{shown(path)} is no path of a checkpoint.")
    path = urls.text(path)
    if urls.is_remote(path):
        urls.parse(path)
    return path.rstrip("/") or "/"


def _bytes(variable: Any) -> int:
    return int(np.prod(variable.shape.as_list(), dtype=np.int64)) * variable.dtype.base_dtype.size


def _complaint(folder: str, missing: list[str], wrong: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"it lacks {snapshot.listed(missing)}")
    if wrong:
        parts.append(f"of another size are {snapshot.listed(wrong)}")
    hint = ""
    if not wrong:
        hint = " load(path, partial=True) gives those that are missing their first values."
    return f"checkpoint {folder} does not fit the jobs: {'; '.join(parts)}.{hint}"
