"""Writes the records that runs leave, as the engine writes them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moxing.engine.reporting.records import line
from moxing.engine.reporting.records.line import Line
from moxing.engine.wording.record_files import METRICS, RUN


def write(
    folder: Path,
    losses: Mapping[int, float] | None = None,
    *,
    name: str = "loss",
    end: str | None = "finished",
    at: float | None = None,
    evaluated: Mapping[str, float] | None = None,
    **outcome: Any,
) -> Path:
    """A run's folder.

    Args:
        folder: the folder to make.
        losses: the logged values by global step.
        name: the values' name.
        end: how the run ended; None: it left no `run.json`.
        at: when the last line was logged, in seconds since 1970; default: an hour ago.
        evaluated: values of one evaluation after the end.
        outcome: more facts on the end; `flags` are the flags of the run.
    """
    folder.mkdir(parents=True)
    at = time.time() - 3600 if at is None else at
    lines = [Line(line.TRAIN, step, {name: v}, time=at) for step, v in (losses or {}).items()]
    if evaluated is not None:
        lines.append(Line(line.EVAL, max(losses or {0: 0.0}), evaluated, time=at + 60))
    (folder / METRICS).write_bytes(b"".join(map(line.encode, lines)))
    if end is not None:
        flags = outcome.pop("flags", {})
        facts = {
            "format": 1,
            "job": {"mode": "TRAIN", "log_dir": str(folder)},
            "flags": flags,
            "environment": {},
            "outcome": {"end": end, "started": at - 60, "ended": at, "seconds": 60.0, **outcome},
        }
        (folder / RUN).write_text(json.dumps(facts))
    return folder
