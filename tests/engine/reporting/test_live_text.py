"""The text of the live line."""

from __future__ import annotations

import math
import sys

import pytest

from moxing.engine.reporting.live_text import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_run_with_an_end(clock: Clock) -> None:
    progress = Progress("train", 1000, clock)
    assert progress.text().plain == "train starting · 0.00 s"
    progress.step = 0
    clock.now += 2
    assert progress.text().plain == "train 0/1000 " + "─" * 16 + " 0% · 2.0 s"
    clock.now += 50  # The first step takes long, and does not count.
    progress.step = 1
    assert " 0% · 52 s" in progress.text().plain
    progress.update(250, 42.087, 0.034, {"loss": 3.4512, "accuracy": 2e-5})
    clock.now += 10
    assert progress.text().plain == (
        "train 250/1000 ━━━━──────────── 25% · 30 s left · 42.1 samples/s · 3% waiting for data"
        " · loss: 3.451 · accuracy: 2.000e-05"
    )
    clock.now += 5  # A long step: the remaining time goes on counting down, not below zero.
    assert " · 25 s left · " in progress.text().plain
    clock.now += 60
    assert " · 0.00 s left · " in progress.text().plain
    progress.step = 1000
    assert progress.text().plain.startswith("train 1000/1000 ━━━━━━━━━━━━━━━━ 100% · 0.00 s left")


def test_the_remaining_time_follows_recent_steps(clock: Clock) -> None:
    progress = Progress("train", 2000, clock)
    for step in range(1000):
        progress.step = step
        clock.now += 10 if step < 500 else 0.1
        progress.text()
    clock.now -= 0.1
    assert " · 1 min 40 s left" in progress.text().plain


@pytest.mark.parametrize("end", [None, 0, sys.maxsize, 2**63 - 1, 10**30])
def test_a_run_without_an_end(clock: Clock, end: int | None) -> None:
    progress = Progress("eval", end, clock)
    progress.step = 7
    clock.now += 83
    assert progress.text().plain == "eval step 7 · 1 min 23 s"
    progress.update(8, None, None, {"loss": math.nan})
    assert progress.text().plain == "eval step 8 · 1 min 23 s · loss: nan"


def test_a_step_past_the_end(clock: Clock) -> None:
    progress = Progress("train", 10, clock)
    progress.step = 12
    assert progress.text().plain == "train 12/10 ━━━━━━━━━━━━━━━━ 100% · 0.00 s"


def test_names_cannot_break_the_line(clock: Clock) -> None:
    progress = Progress("tr\nain", None, clock)
    progress.update(1, None, None, {"a\x1b[31mb\tc": 1})
    assert progress.text().plain == "tr ain step 1 · 0.00 s · a [31mb c: 1.000"


def test_values_have_room_on_a_narrow_terminal(clock: Clock) -> None:
    progress = Progress("train", 1000, clock)
    progress.update(250, 42.087, 0.034, {"loss": 3.4512, "accuracy": 0.25})
    wide = progress.text(200).plain
    assert wide == progress.text().plain
    assert "━" in wide
    assert progress.text(100).plain == (
        "train 250/1000 25% · 0.00 s · 42.1 samples/s · 3% waiting for data · loss: 3.451"
        " · accuracy: 0.250"
    )
    assert progress.text(80).plain == (
        "train 250/1000 25% · 0.00 s · 42.1 samples/s · loss: 3.451 · accuracy: 0.250"
    )
    progress.update(250, 42.087, 0.5, {"loss": 3.4512, "accuracy": 0.25})
    assert "50% waiting for data" in progress.text(80).plain  # What slows a run is always said.
