"""`flow.train.SimpleCheckPointManager`: the checkpoints below a folder, and the best of them."""

from __future__ import annotations

import datetime
import json
import math
import os
from dataclasses import dataclass
from typing import Any

from moxing.engine.job import ranking
from moxing.engine.reporting.records.checkpoints import best_record
from moxing.engine.wording.record_files import BEST_RECORD
from moxing.errors import CheckpointError, MoxTypeError, shown
from moxing.flow.saving import snapshot, storage
from moxing.flow.saving.checkpoints import CheckPoint, checked_path, save
from moxing.framework import file
from moxing.logs import TENSORFLOW

BEST = "best"


class SimpleCheckPointManager:
    """Checkpoints below one folder, named by their time."""

    def __init__(self, root_path: str, prefix: str = "snapshot_") -> None:
        """Args: root_path: local or in a store; made if it is not there. prefix: of the names."""
        self._root, self._prefix = checked_path(root_path), prefix
        self._checkpoint = CheckPoint()

    def list_checkpoints(self) -> list[str]:
        """Names of the complete checkpoints, oldest first."""
        return [name for name in _names(self._root, self._prefix) if _done(self._root, name)]

    def latest_checkpoint(self) -> str | None:
        """The newest complete checkpoint's name."""
        return next(reversed(self.list_checkpoints()), None)

    def initialize_or_restore(self) -> None:
        """Loads the newest whole checkpoint, or gives variables their first values.

        Checkpoints that are damaged or were cut short are skipped, with a warning that names them.

        Raises:
            CheckpointError: there are checkpoints, and none is whole; or the newest whole one does
                not fit the jobs.
        """
        skipped = [
            f"{self._root}/{name} has no {snapshot.DONE}: its save was cut short, or goes on"
            for name in _names(self._root, self._prefix)
            if not _done(self._root, name) and storage.has_values(f"{self._root}/{name}")
        ]
        for name in reversed(self.list_checkpoints()):
            path = os.path.join(self._root, name)
            if gone := storage.lost(path):
                skipped.append(f"{path} has lost the values of {snapshot.listed(gone)}")
                continue
            try:
                self._checkpoint.load(path)
            except snapshot.DamagedError as error:
                skipped.append(str(error).rstrip("."))
                continue
            if skipped:
                TENSORFLOW.warning("Skipped: %s. Using %s.", "; ".join(skipped), name)
            return
        if skipped:
            raise CheckpointError(
                f"no checkpoint in {self._root} is whole: {'; '.join(skipped)}. Restore the files"
                " from a copy; to start over without them, remove the folders."
            )
        self._checkpoint.init()

    def save(self) -> None:
        """Saves a checkpoint under a new name."""
        self._checkpoint.save(self._new(self._root))

    def save_best(self, metric: str, value: Any) -> bool:
        """Saves a checkpoint in the folder `best` of the root, if its value is among the best.

        OneFlow does not have this method. A checkpoint is removed only after the one that takes its
        place is complete.

        Args:
            metric: the name of the value, such as "accuracy" or "loss"; names with "acc", "auc" or
                "f1" should grow, others should fall. "loss:min" and "score:max" say the direction,
                and "accuracy:max:3" keeps the three best checkpoints.
            value: the value, with the variables as they are now.

        Returns:
            Whether a checkpoint was saved.

        Raises:
            MoxValueError: `metric` has another form.
            MoxTypeError: `value` is no number.
            CheckpointError, OSError: see `CheckPoint.save`.
        """
        wanted = ranking.parsed(metric, "save_best's metric")
        number = _number(value)
        sign = 1.0 if wanted.grows else -1.0
        folder = f"{self._root}/{BEST}"
        kept = [one for one in self._best() if one.metric == wanted.metric]
        kept.sort(key=lambda one: (-sign * one.value, one.name))
        # A save that was killed before it removed a checkpoint leaves too many.
        beaten = sign * kept[wanted.keep - 1].value if len(kept) >= wanted.keep else -math.inf
        if not math.isfinite(number) or sign * number <= beaten:
            return False
        path = self._new(folder)
        record = {BEST_RECORD: json.dumps({"metric": wanted.metric, "value": number}).encode()}
        save(path, record)
        left = {one.name for one in kept[: wanted.keep - 1]} | {os.path.basename(path)}
        for name in _names(folder, self._prefix):
            if name not in left:
                storage.remove(f"{folder}/{name}")
        return True

    def best_checkpoint(self, metric: str = "") -> str | None:
        """The path of the best checkpoint that `save_best` has kept; None: there is none.

        Args:
            metric: as in `save_best`; empty: any, in the direction that its name says.
        """
        kept = self._best()
        wanted = ranking.parsed(metric, "best_checkpoint's metric") if metric else None
        if wanted is not None:
            kept = [one for one in kept if one.metric == wanted.metric]
        if not kept:
            return None
        wanted = wanted or ranking.parsed(kept[0].metric, "best_checkpoint's metric")
        sign = 1.0 if wanted.grows else -1.0
        best = max(kept, key=lambda one: sign * one.value)
        return f"{self._root}/{BEST}/{best.name}"

    def _best(self) -> list[_Kept]:
        folder = f"{self._root}/{BEST}"
        found = []
        for name in _names(folder, self._prefix):
            if not _done(folder, name):
                continue
            record = best_record(f"{folder}/{name}")
            if record is not None:
                found.append(_Kept(name, *record))
            else:
                TENSORFLOW.warning(
                    "%s/%s is not counted among the best: its %s can't be read.",
                    *(folder, name, BEST_RECORD),
                )
        return found

    def _new(self, folder: str) -> str:
        if not file.is_remote(folder):  # A store has no folders.
            os.makedirs(folder, exist_ok=True)
        stamp = datetime.datetime.now().strftime("%Y%m%d_%H%M%S_%f")
        return os.path.join(folder, self._prefix + stamp)


@dataclass(frozen=True)
class _Kept:
    """A checkpoint below `best`, with the value that it is kept for."""

    name: str
    metric: str
    value: float


def _names(folder: str, prefix: str) -> list[str]:
    if not file.is_directory(folder):
        return []
    return sorted(name for name in file.list_directory(folder) if name.startswith(prefix))


def _done(folder: str, name: str) -> bool:
    return file.exists(f"{folder}/{name}/{snapshot.DONE}")


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"save_best has the value {shown(value)}; it must be a number."
        raise MoxTypeError(message) from None
