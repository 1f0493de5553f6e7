"""Lists the checkpoints of a directory for the report."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from moxing.engine.checkpoint import manifest
from moxing.engine.checkpoint.names import BEST, MANIFEST
from moxing.engine.wording.record_files import BEST_RECORD
from moxing.framework import file


@dataclass(frozen=True)
class Kept:
    """A committed checkpoint.

    Attributes:
        name: relative to the directory.
        step: its global step.
        bytes: size of its files.
        time: when it was committed, in seconds since 1970.
        note: such as "best accuracy: 0.912"; else empty.
    """

    name: str
    step: int
    bytes: int
    time: float
    note: str = ""


def kept(log_dir: str) -> list[Kept]:
    """The checkpoints of a directory and the best one, oldest first."""
    found = [_of(log_dir, prefix, record) for prefix, record in manifest.manifests(log_dir)]
    best = os.path.join(log_dir, BEST)
    if os.path.isdir(best):
        found += [_of(log_dir, prefix, record) for prefix, record in manifest.manifests(best)]
    return sorted(found, key=lambda one: (one.step, one.name))


def best_record(path: str) -> tuple[str, float] | None:
    """The metric and the value that a checkpoint that is a folder is kept for; None: no record."""
    try:
        record = json.loads(file.read(f"{path}/{BEST_RECORD}"))
        return str(record["metric"]), float(record["value"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _of(log_dir: str, prefix: str, record: manifest.Manifest) -> Kept:
    best = record.extra.get("best")
    note = ""
    if isinstance(best, dict) and isinstance(best.get("value"), int | float):
        note = f"best {best.get('metric')}: {best['value']:.6g}"
    try:
        time = os.stat(prefix + MANIFEST).st_mtime
    except OSError:
        time = 0.0
    size = sum(part.bytes for part in record.files.values())
    return Kept(os.path.relpath(prefix, log_dir), record.step, size, time, note)
