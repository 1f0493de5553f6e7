"""Lists the checkpoints of a folder, and says which of them are damaged.

Imported without TensorFlow, which is only needed to verify checkpoints that have no digests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from moxing.engine.checkpoint.names import BEST, INDEX, MANIFEST, indexed_prefixes, step_of
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.remote.contents import listing as remote_listing
from moxing.engine.remote.scratch import room
from moxing.engine.reporting.records import checkpoints as committed
from moxing.engine.reporting.records.checkpoints import best_record
from moxing.engine.wording import report
from moxing.engine.wording.record_files import BEST_RECORD
from moxing.errors import CheckpointError, MoxValueError, escaped
from moxing.framework import file
from moxing.framework.file.configuration import tuning
from moxing.runs.checkpoints import start_tensorflow
from moxing.runs.columns import aligned
from moxing.runs.table import minute

_THREADS = 16
_OUTLINE = (INDEX, MANIFEST)
FLOW_DONE: Final = "snapshot_done"  # In each checkpoint of a flow program, written last.


@dataclass(frozen=True)
class Listed:
    """A checkpoint of a folder.

    Attributes:
        name: its name in the folder, such as `model.ckpt-50` or `best/model.ckpt-40`.
        step: the global step; None: not known.
        bytes: the size of its files; None: not known without reading a store.
        time: when it was written, in seconds since 1970.
        note: a remark such as `best accuracy: 0.912`, or that another program wrote the checkpoint.
        fault: the damage of the checkpoint; empty: no damage, or not verified.
    """

    name: str
    step: int | None
    bytes: int | None
    time: float
    note: str = ""
    fault: str = ""


def listed(folder: str, verified: bool = False) -> list[Listed]:
    """Returns the checkpoints of a folder and of its `best` folder, in the order of steps.

    Args:
        folder: a local folder or a URL.
        verified: whether every file is read and checked for damage.

    Raises:
        MoxValueError: there is no such folder.
        OSError: the disk or the store fails.
    """
    if not file.is_directory(folder):
        raise MoxValueError(f"There is no folder {folder}. Give the log_dir of a run.")
    with _at_hand(folder, verified) as local:
        found = {kept.name: _committed(kept, local, verified) for kept in committed.kept(local)}
        for prefix in _others(local):
            name = os.path.relpath(prefix, local)
            if name not in found:
                found[name] = _foreign(prefix, name, verified, sized=local == folder or verified)
        for name in _of_flow(local):
            found[name] = _snapshot(local, name, verified, sized=local == folder or verified)
    return sorted(found.values(), key=lambda one: (one.step or 0, one.name))


def text(checkpoints: Sequence[Listed]) -> str:
    """Returns a table with one line for each checkpoint."""
    rows = [["checkpoint", "step", "size", "written", ""]]
    rows += [
        [
            escaped(one.name),
            "" if one.step is None else f"{one.step:,}",
            "" if one.bytes is None else report.size(one.bytes),
            minute(one.time),
            escaped(f"DAMAGED: {one.fault}" if one.fault else one.note),
        ]
        for one in checkpoints
    ]
    return aligned(rows, (1, 2))


@contextmanager
def _at_hand(folder: str, whole: bool) -> Iterator[str]:
    """Yields a local folder with the checkpoints' files; without data files unless `whole`."""
    if not file.is_remote(folder):
        yield folder
        return
    with room(tuning.staging_dir()) as local:
        for part in ("", BEST):
            url = os.path.join(folder, part).rstrip("/")
            entries = remote_listing(url)
            times = {name: ns for name, ns in entries.items() if ns is not None}
            folders = [name for name, ns in entries.items() if ns is None and name != BEST]
            wanted = [name for name in times if whole or name.endswith(_OUTLINE)]
            os.makedirs(os.path.join(local, part), exist_ok=True)
            here = {name: os.path.join(local, part, name) for name in wanted}
            file.copy_files([(f"{url}/{name}", path) for name, path in here.items()], _THREADS)
            for name, path in here.items():
                os.utime(path, ns=(times[name], times[name]))
            for name in folders:
                _bring_snapshot(f"{url}/{name}", os.path.join(local, part, name), whole)
        yield local


def _bring_snapshot(url: str, local: str, whole: bool) -> None:
    """Copies a folder of a store if it is a checkpoint of a flow program; all of it if `whole`."""
    times = remote_listing(url)
    done = times.get(FLOW_DONE)
    if done is None:
        return
    if whole:
        file.copy_parallel(url, local)
    else:
        os.makedirs(local)
        wanted = [name for name in (FLOW_DONE, BEST_RECORD) if name in times]
        pairs = [(f"{url}/{name}", os.path.join(local, name)) for name in wanted]
        file.copy_files(pairs, _THREADS)
    os.utime(os.path.join(local, FLOW_DONE), ns=(done, done))


def _others(local: str) -> list[str]:
    best = os.path.join(local, BEST)
    return indexed_prefixes(local) + (indexed_prefixes(best) if os.path.isdir(best) else [])


def _of_flow(local: str) -> list[str]:
    """The names of the folders that are checkpoints of flow programs, in the folder and in best."""
    best = os.path.join(local, BEST)
    names = os.listdir(local)
    names += [os.path.join(BEST, name) for name in os.listdir(best)] if os.path.isdir(best) else []
    return [name for name in names if os.path.isfile(os.path.join(local, name, FLOW_DONE))]


def _snapshot(local: str, name: str, verified: bool, sized: bool) -> Listed:
    path = os.path.join(local, name)
    kept = best_record(path)
    files = [os.path.join(base, one) for base, _, found in os.walk(path) for one in found]
    return Listed(
        name,
        None,
        sum(os.path.getsize(one) for one in files) if sized else None,
        os.path.getmtime(os.path.join(path, FLOW_DONE)),
        f"best {kept[0]}: {kept[1]:.6g}" if kept else "of a flow program",
        _fault_of_flow(path) if verified else "",
    )


def _fault_of_flow(path: str) -> str:
    """Says what is wrong with a checkpoint of a flow program; empty: it is whole."""
    from moxing.flow.saving import snapshot, storage

    try:
        snapshot.verify(path, snapshot.names(path), path)
    except CheckpointError as error:
        return str(error)
    gone = storage.lost(path)
    return f"the values of {snapshot.listed(gone)} are gone" if gone else ""


def _committed(kept: committed.Kept, local: str, verified: bool) -> Listed:
    fault = verify.fault(os.path.join(local, kept.name)) if verified else None
    return Listed(kept.name, kept.step, kept.bytes, kept.time, kept.note, fault or "")


def _foreign(prefix: str, name: str, verified: bool, sized: bool) -> Listed:
    if verified:
        start_tensorflow()
    folder, base = os.path.split(prefix)
    files = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith(f"{base}.")]
    return Listed(
        name,
        step_of(prefix),
        sum(os.path.getsize(path) for path in files) if sized else None,
        max(os.path.getmtime(path) for path in files),
        "by another program",
        (verify.fault(prefix) if verified else None) or "",
    )
