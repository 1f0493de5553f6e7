"""Which log lines of a run a cell shows."""

from __future__ import annotations

import logging

from moxing.engine.job.job import Result
from moxing.engine.reporting import cell
from moxing.engine.reporting.cell import FewerLines
from moxing.engine.reporting.records import in_html
from moxing.keras.result import FitResult


def record(text: str, level: int = logging.INFO, name: str = "tensorflow") -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, "%s", (text,), None)


def test_a_cell_shows_twenty_lines_of_steps_and_then_one_each_half_minute() -> None:
    now = 0.0
    fewer = FewerLines(lambda: now)
    shown = [fewer.filter(record(f"step: {step}(global step: {step})")) for step in range(100)]
    assert shown == [True] * 20 + [False] * 80
    now = 31.0
    assert fewer.filter(record("step: 100(global step: 100)"))
    assert not fewer.filter(record("step: 101(global step: 101)"))
    assert fewer.hidden == 81


def test_the_speed_is_on_the_live_line_alone() -> None:
    fewer = FewerLines(lambda: 0.0)
    assert not fewer.filter(record("global_step/sec: 12"))
    assert fewer.hidden == 0


def test_other_lines_are_all_shown() -> None:
    fewer = FewerLines(lambda: 0.0)
    for _ in range(30):
        fewer.filter(record("step: 1"))
    assert fewer.filter(record("Saving checkpoints for 1"))
    assert fewer.filter(record("step: 1", logging.WARNING))
    assert fewer.filter(record("step: 1", name="program"))


def test_there_is_no_cell_outside_of_a_kernel() -> None:
    assert cell.shell() is None


def test_results_show_what_they_have() -> None:
    html = in_html.of_result(Result(7, 3, 1.5, {"loss <1>": 0.25}))
    assert "loss &amp;lt;1&amp;gt;" in html
    assert "0.250" in html
    assert "checkpoint" not in html.partition("/style")[2]


def test_a_fit_shows_its_metrics_and_the_curves_of_all_epochs() -> None:
    history = {"loss": [2.0, 1.0], "val_loss": [3.0, 2.0], "val_auc": [0.5]}
    html = FitResult(history, [0, 1], 20, 20, 3.0)._repr_html_()
    assert html.count("&lt;figure class=&quot;chart&quot;") == 1
    assert "validation" in html
    assert "val_auc" in html
