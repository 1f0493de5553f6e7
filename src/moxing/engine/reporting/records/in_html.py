"""The result of a run as HTML, for the output of a notebook's cell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape

from moxing.engine.job.job import Result
from moxing.engine.reporting.records import history
from moxing.engine.reporting.records.chart import Curve, chart
from moxing.engine.reporting.records.markup import document, pairs
from moxing.engine.reporting.records.thin import thin
from moxing.engine.wording import report

_POINTS = 300  # Points of a curve: a notebook keeps its outputs in its file.
_CHARTS = 8


def of_result(result: Result) -> str:
    """Returns the facts of a result, its metrics, and the curves of its log_dir if it has any."""
    facts = {
        "global step": f"{result.global_step:,}",
        "steps of this run": f"{result.steps:,} in {report.duration(result.seconds)}",
        **{name: report.number(value) for name, value in result.metrics.items()},
        "checkpoint": result.checkpoint,
        "export_dir": result.export_dir,
    }
    folder = os.path.dirname(result.checkpoint) if result.checkpoint else ""
    try:
        curves = history.read(folder).curves if os.path.isdir(folder) else {}
    except OSError:  # The result is shown without curves.
        curves = {}
    figures = {name: thin(series, _POINTS) for name, series in curves.items()}
    return page("Result", {name: value for name, value in facts.items() if value}, figures)


def page(
    title: str,
    facts: Mapping[str, str],
    curves: Mapping[str, Sequence[tuple[int, float]]],
    validation: Mapping[str, Sequence[tuple[int, float]]] | None = None,
) -> str:
    """Returns a frame that holds a page of its own, so that no style of the notebook meets it.

    Args:
        title: the heading.
        facts: texts by name.
        curves: points of the values of training, by name, each drawn as a chart.
        validation: points that are drawn in the chart of the same name.
    """
    charts = []
    for name, points in list(curves.items())[:_CHARTS]:
        lines = [Curve("training", points, "a")]
        if validation and name in validation:
            lines.append(Curve("validation", validation[name], "b"))
        charts.append(chart(name, lines))
    drawn = f'<div class="charts">{"".join(charts)}</div>' if charts else ""
    inner = document(title, [pairs(title, "facts", facts), drawn])
    height = 140 + 34 * len(facts) + 340 * len(charts)
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(inner)}" width="100%"'
        f' height="{min(height, 700)}" style="border: 0"></iframe>'
    )
