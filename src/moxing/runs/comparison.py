"""Shows runs side by side: the settings that differ, and all curves of a value in one chart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import Any, Final

import moxing
from moxing.engine.reporting.records.chart import Curve, chart
from moxing.engine.reporting.records.markup import document, moment, table
from moxing.engine.reporting.records.thin import Series, thin
from moxing.engine.wording import report
from moxing.errors import MoxValueError
from moxing.runs.found import Run

COLORS: Final = "abcdefgh"  # A curve's color is a letter in the page's style sheet.
# Points of all curves together; this limit keeps the page below two megabytes.
_POINTS: Final = 30_000
_MOST, _LEAST = 1_000, 60  # Points of one curve.
_CHARTS: Final = 300
_HEAD: Final = ("run", "global step", "time", "ended", "end")


def different(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Returns the settings that differ between runs, each with its value or None for every run.

    The log_dir is left out: each run has its own.
    """
    names = dict.fromkeys(name for run in runs for name in run.settings if name != "log_dir")
    values = {name: [run.settings.get(name) for run in runs] for name in names}
    return {
        name: found for name, found in values.items() if any(other != found[0] for other in found)
    }


def labels(runs: Sequence[Run]) -> list[str]:
    """Returns short names of runs: their paths without the folders that all paths begin with."""
    parts = [run.path.rstrip("/").split("/") for run in runs]
    shared = len(os.path.commonprefix([one[:-1] for one in parts]))
    return ["/".join(one[shared:]) for one in parts]


def page(runs: Sequence[Run]) -> str:
    """Returns a self-contained HTML page: the runs, their differences, and curves of each value.

    Raises:
        MoxValueError: fewer than two runs, more than the page has colors for, or a run twice.
    """
    if not 2 <= len(runs) <= len(COLORS):
        raise MoxValueError(
            f"{len(runs)} run{'s' * (len(runs) != 1)} given: a page compares 2 to {len(COLORS)}"
            " runs. `mox runs FOLDER --sort=NAME` shows any number of them as a table."
        )
    paths = [os.path.normpath(run.path) for run in runs]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise MoxValueError(f"The run {runs[number].path} is given twice. Name each run once.")
    body = [
        f"<header><h1>{len(runs)} runs compared</h1></header>",
        table("Runs", "runs", _HEAD, [_facts(run) for run in runs], {0, 2, 3, 4}),
        _settings(runs),
        _last_values(runs),
        _curves(runs),
        f"<footer>Made by openmox {escape(moxing.__version__)}.</footer>",
    ]
    return document(f"{len(runs)} runs compared", body)


def _facts(run: Run) -> list[str]:
    return [
        run.path,
        "" if run.step is None else f"{run.step:,}",
        run.duration,
        moment(run.when) if run.when else "",
        run.end_told,
    ]


def _settings(runs: Sequence[Run]) -> str:
    rows = [
        [name, *("" if value is None else str(value) for value in values)]
        for name, values in different(runs).items()
    ]
    head = ["setting", *labels(runs)]
    words = "" if rows else "None of those that are recorded."
    return table("Settings that differ", "settings", head, rows, set(range(len(head))), words)


def _last_values(runs: Sequence[Run]) -> str:
    names = dict.fromkeys(name for run in runs for name in run.values)
    rows = [
        [name, *(report.number(run.values[name]) if name in run.values else "" for run in runs)]
        for name in list(names)[:_CHARTS]
    ]
    head = ["value", *labels(runs)]
    return table("Last values", "values", head, rows, {0}, "" if rows else "Nothing was logged.")


def _curves(runs: Sequence[Run]) -> str:
    groups: dict[str, list[tuple[str, Series, str]]] = {}
    for run, label, color in zip(runs, labels(runs), COLORS, strict=False):
        series = dict(run.history.curves)
        for (prefix, name), evaluated in run.history.evaluated.items():
            series[f"{prefix or 'evaluation'} {name}"] = evaluated
        for name, values in series.items():
            groups.setdefault(name, []).append((label, values, color))
    shown = dict(list(groups.items())[:_CHARTS])
    number = sum(map(len, shown.values())) or 1
    most = max(_LEAST, min(_MOST, _POINTS // number))
    figures = [
        chart(name, [Curve(label, thin(values, most), color) for label, values, color in curves])
        for name, curves in shown.items()
    ]
    if not figures:
        return ""
    return f'<h2 id="curves">Curves</h2><div class="charts">{"".join(figures)}</div>'
