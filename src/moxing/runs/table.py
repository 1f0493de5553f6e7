"""Shows runs as a table of text, or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from moxing.engine.reporting.records.markup import moment
from moxing.engine.wording import report
from moxing.errors import MoxValueError, escaped, near_matches
from moxing.runs.columns import aligned
from moxing.runs.found import Run

_COLUMNS = 4  # The maximum number of value columns if the user names no values.
_MINUTES = len("2026-11-29 14:05")


def ordered(runs: Iterable[Run], by: str | None, descending: bool = False) -> list[Run]:
    """Returns the runs sorted by a value; without a named value by their times, the oldest first.

    Args:
        runs: the runs.
        by: the name of a value (`loss`, `accuracy`), or `step`, `time` (of the last action) or
            `run` (the path).
        descending: the largest first. Runs without the value always come last.

    Raises:
        MoxValueError: no run has a value of that name.
    """
    listed = list(runs)
    if by is None or by in ("time", "ended"):
        return sorted(listed, key=lambda run: run.when, reverse=descending)
    if by == "run":
        return sorted(listed, key=lambda run: run.path, reverse=descending)
    keys = {id(run): _value(run, by) for run in listed}
    if listed and not any(key is not None for key in keys.values()):
        names = sorted({name for run in listed for name in run.values})
        known = near_matches(by, names) or f" They have {', '.join(names) or 'no values'}."
        raise MoxValueError(f"--sort={by}: none of the runs has a value of that name.{known}")
    with_value = [run for run in listed if keys[id(run)] is not None]
    with_value.sort(key=lambda run: keys[id(run)] or 0.0, reverse=descending)
    return with_value + [run for run in listed if keys[id(run)] is None]


def text(runs: Sequence[Run], shown: Sequence[str] = ()) -> str:
    """Returns a table with one line for each run.

    Args:
        runs: in the order of their lines.
        shown: the names of the values to show; empty: the values that most runs have.
    """
    names = list(shown) or _usual(runs)
    rows = [["run", "step", *names, "time", "ended", "end"]]
    rows += [_row(run, names) for run in runs]
    return aligned(rows, range(1, len(names) + 3))


def as_json(runs: Iterable[Run]) -> str:
    """Returns the runs as JSON objects with path, step, end, error, times, values and settings."""
    return json.dumps([_plain(run) for run in runs], indent=1, allow_nan=False)


def _row(run: Run, names: Sequence[str]) -> list[str]:
    step, values = run.step, run.values
    end = run.end_told
    return [
        escaped(run.path),
        "" if step is None else f"{step:,}",
        *(report.number(values[name]) if name in values else "" for name in names),
        run.duration,
        minute(run.when),
        escaped(end if len(end) <= 60 else f"{end[:59]}…"),
    ]


def _usual(runs: Sequence[Run]) -> list[str]:
    counts: dict[str, int] = {}
    for run in runs:
        for name in run.values:
            counts[name] = counts.get(name, 0) + 1
    common = sorted(counts, key=lambda name: -counts[name])  # Equal counts keep their order.
    return common[:_COLUMNS]


def _value(run: Run, name: str) -> float | None:
    value = run.step if name == "step" else run.values.get(name)
    return None if value is None or math.isnan(value) else float(value)


def _plain(run: Run) -> dict[str, Any]:
    return {
        "path": run.path,
        "step": run.step,
        "end": run.end,
        "error": run.outcome.get("error"),
        "started": run.outcome.get("started"),
        "last_action": run.when or None,
        "seconds": run.outcome.get("seconds"),
        "values": {
            name: value if math.isfinite(value) else str(value)
            for name, value in run.values.items()
        },
        "settings": dict(run.settings),
    }


def minute(seconds: float) -> str:
    """Returns a time as `2026-11-29 14:05`, in this machine's time zone; empty for 0."""
    return moment(seconds)[:_MINUTES] if seconds else ""
