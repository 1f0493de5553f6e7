"""Makes the page that shows a run: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from moxing.engine.reporting.records.chart import Curve, chart
from moxing.engine.reporting.records.checkpoints import Kept
from moxing.engine.reporting.records.history import History, median
from moxing.engine.reporting.records.line import Line
from moxing.engine.reporting.records.markup import document, moment, pairs, table
from moxing.engine.reporting.records.thin import Series, thin
from moxing.engine.wording import report

# These limits keep the page below two megabytes, however many steps and values there are.
_POINTS = 30_000  # Points of all curves together.
_MOST, _LEAST = 1_000, 60  # Points of one curve.
_CHARTS = 300
_ROWS = 200  # Rows of a table.

_RATES = {
    "steps_per_second": "steps per second",
    "samples_per_second": "samples per second",
    "data_wait": "share of time waiting for data",
}


def render(facts: Mapping[str, Any], history: History, kept: Sequence[Kept]) -> str:
    """Returns the page as HTML.

    Args:
        facts: the facts of a run, as `run_facts` describes them.
        history: the measured values.
        kept: the checkpoints of the run.
    """
    parts = [
        _head(facts, history),
        *_curves(history),
        _evaluations(history.evaluations),
        _checkpoints(kept),
        pairs("Job", "job", facts["job"]),
        pairs("Flags", "flags", facts["flags"]),
        pairs("Environment", "environment", facts["environment"]),
        f"<footer>Made by openmox {escape(str(facts['environment'].get('openmox', '')))}. All"
        " values are in metrics.jsonl beside this file.</footer>",
    ]
    return document(_title(facts), parts)


def _title(facts: Mapping[str, Any]) -> str:
    job = facts["job"]
    return f"{job.get('mode', '')} {job.get('log_dir', '')}".strip()


def _head(facts: Mapping[str, Any], history: History) -> str:
    outcome = facts["outcome"]
    good = outcome.get("end") == "finished"
    word = f'<b class="{"good" if good else "bad"}">{escape(str(outcome.get("end", "")))}</b>'
    error = f": {escape(str(outcome['error']))}" if outcome.get("error") else ""
    when = " – ".join(moment(outcome[key]) for key in ("started", "ended") if outcome.get(key))
    sections = ("curves", "evaluations", "checkpoints", "job", "flags", "environment")
    links = " ".join(f'<a href="#{name}">{name.capitalize()}</a>' for name in sections)
    unread = ""
    if history.unread:
        unread = f'<p class="warn">{history.unread} lines of metrics.jsonl could not be read.</p>'
    return (
        f'<header><h1>{escape(_title(facts))}</h1><p class="outcome">{word}{error} · {when}</p>'
        f"<nav>{links}</nav></header>{unread}"
        f'<div class="tiles">{"".join(_tiles(outcome, history))}</div>'
    )


def _tiles(outcome: Mapping[str, Any], history: History) -> list[str]:
    tiles = []
    if isinstance(outcome.get("last_step"), int):
        tiles.append((f"{outcome['last_step']:,}", "global step"))
    if isinstance(outcome.get("seconds"), int | float):
        tiles.append((report.duration(outcome["seconds"]), "in this run's steps"))
    for name, words in _RATES.items():
        middle = median(history.rates[name].values) if name in history.rates else None
        if middle is not None:
            shown = report.percent(middle) if name == "data_wait" else report.rate(middle)
            tiles.append((shown, f"{words} (median)"))
    for name, series in list(history.curves.items())[:4]:
        tiles.append((report.number(series.values[-1]), f"last {name}"))
    return [
        f'<div class="tile"><b>{escape(big)}</b><span>{escape(small)}</span></div>'
        for big, small in tiles
    ]


def _curves(history: History) -> list[str]:
    """The charts: each logged value with its evaluations, values that are only evaluated, rates."""
    groups: list[tuple[str, list[tuple[str, Series, str]]]] = []
    evaluated = dict(history.evaluated)
    for name, series in history.curves.items():
        group = [("training", series, "a")]
        for key in [key for key in evaluated if key[1] == name]:
            group.append((key[0] or "evaluation", evaluated.pop(key), _color(key[0])))
        groups.append((name, group))
    groups += [
        (f"{prefix} {name}".strip(), [(prefix or "evaluation", series, _color(prefix))])
        for (prefix, name), series in evaluated.items()
    ]
    rates = [(_RATES[name], [(_RATES[name], s, "a")]) for name, s in history.rates.items()]
    if not groups and not rates:
        return ['<h2 id="curves">Curves</h2><p>Nothing was logged.</p>']
    shown = groups[:_CHARTS]
    number = sum(len(curves) for _, curves in shown + rates)
    most = max(_LEAST, min(_MOST, _POINTS // number))
    parts = ['<h2 id="curves">Curves</h2>', _charts(shown, most)]
    if len(groups) > len(shown):
        parts.append(f"<p>{len(groups) - len(shown)} more values are in metrics.jsonl.</p>")
    return [*parts, "<h2>Rates</h2>", _charts(rates, most)] if rates else parts


def _color(evaluation: str) -> str:
    """Returns one color for evaluations of hooks, and another for runs in EVAL."""
    return "b" if evaluation else "c"


def _charts(groups: Sequence[tuple[str, Sequence[tuple[str, Series, str]]]], most: int) -> str:
    figures = [
        chart(title, [Curve(name, thin(series, most), kind) for name, series, kind in curves])
        for title, curves in groups
    ]
    return f'<div class="charts">{"".join(figures)}</div>'


def _evaluations(lines: Sequence[Line]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line.values))[:20]
    head = ["global step", "evaluation", *names, "samples", "seconds", "time"]
    rows = [
        [
            f"{line.step:,}",
            line.name or "EVAL",
            *(report.number(line.values[name]) if name in line.values else "" for name in names),
            f"{line.facts['samples']:,.0f}" if "samples" in line.facts else "",
            f"{line.facts['seconds']:.3g}" if "seconds" in line.facts else "",
            moment(line.time),
        ]
        for line in lines[-_ROWS:]
    ]
    words = "No evaluation was made." if not rows else ""
    if len(lines) > len(rows):
        words = f"The last {len(rows)} of {len(lines):,} evaluations."
    return table("Evaluations", "evaluations", head, rows, {1, len(head) - 1}, words)


def _checkpoints(kept: Sequence[Kept]) -> str:
    rows = [
        [one.name, f"{one.step:,}", report.size(one.bytes), moment(one.time), one.note]
        for one in kept[-_ROWS:]
    ]
    head = ["checkpoint", "global step", "size", "committed", ""]
    words = "" if rows else "There is none."
    return table("Checkpoints", "checkpoints", head, rows, {0, 3, 4}, words)
