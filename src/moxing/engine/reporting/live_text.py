"""The text of the live line, and the thread that keeps it moving. Only terminals need rich."""

from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import SupportsFloat

from rich.console import Console as RichConsole
from rich.text import Text

from moxing.engine.reporting.bottom_line import BottomLine
from moxing.engine.wording import report

_SECONDS = 0.25  # Time between two drawings of the line.
_BAR = 16
_SLOW_INPUT = 0.3  # Share of time spent waiting for data from which the line shows it in color.
_RECENT = 120  # Number of changes of the step from which the remaining time is computed.


class Progress:
    """The progress of a run, and the line that shows it."""

    def __init__(
        self, title: str, end_step: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.step: int | None = None
        self._title = title
        self._end = end_step if end_step and end_step < report.ENDLESS else None
        self._clock = clock
        self._started = clock()
        self._rate: float | None = None
        self._data_wait: float | None = None
        self._values: dict[str, SupportsFloat] = {}
        self._recent: collections.deque[tuple[float, int]] = collections.deque(maxlen=_RECENT)

    def update(
        self,
        step: int,
        samples_per_second: float | None,
        data_wait: float | None,
        values: Mapping[str, SupportsFloat],
    ) -> None:
        self.step = step
        self._rate, self._data_wait = samples_per_second, data_wait
        self._values = dict(values)

    def text(self, columns: int | None = None) -> Text:
        """`train 120/1000 ━━━───── 12% · 1 min 12 s left · 42.1 samples/s · loss: 0.312`.

        Args:
            columns: the width of the terminal; where the text is wider, the bar and then the wait
                for data make room for the values. None: any width.
        """
        made = self._text(_BAR, waits=True)
        if columns is not None and made.cell_len > columns:
            made = self._text(0, waits=True)
        if columns is not None and made.cell_len > columns:
            made = self._text(0, waits=False)
        return made

    def _text(self, bar: int, waits: bool) -> Text:
        now = self._clock()
        parts = [self._position(bar), self._time(now)]
        if self._rate is not None:
            parts.append(Text(f"{report.rate(self._rate)} samples/s"))
        if self._data_wait is not None and (waits or self._data_wait >= _SLOW_INPUT):
            color = "yellow" if self._data_wait >= _SLOW_INPUT else ""
            parts.append(Text(f"{report.percent(self._data_wait)} waiting for data", color))
        for name, value in self._values.items():
            parts.append(Text.assemble((f"{_printable(name)}: ", "dim"), report.number(value)))
        return Text.assemble((" · ", "dim")).join(parts)

    def _position(self, width: int) -> Text:
        title = (_printable(self._title), "bold")
        if self.step is None:
            return Text.assemble(title, " starting")
        if self._end is None:
            return Text.assemble(title, f" step {self.step}")
        step = min(max(self.step, 0), self._end)
        done = step * width // self._end
        bar = ("━" * done, "green"), ("─" * (width - done), "dim"), " " if width else ""
        return Text.assemble(
            title, f" {self.step}/{self._end} ", *bar, f"{step * 100 // self._end}%"
        )

    def _time(self, now: float) -> Text:
        left = self._seconds_left(now)
        if left is None:
            return Text(report.duration(now - self._started))
        return Text(f"{report.duration(left)} left")

    def _seconds_left(self, now: float) -> float | None:
        # The first step also plans the graph: its time says nothing of the others.
        if not self.step or self._end is None:
            return None
        if not self._recent or self._recent[-1][1] != self.step:
            self._recent.append((now, self.step))
        (before, first), (after, last) = self._recent[0], self._recent[-1]
        if last <= first or after <= before:
            return None
        seconds = (self._end - last) * (after - before) / (last - first)
        return max(seconds - (now - after), 0.0)


class LiveConsole:
    """The `Console` of a terminal."""

    live = True

    def __init__(self, title: str, end_step: int | None) -> None:
        self._progress = Progress(title, end_step)
        self._rich = RichConsole(file=sys.stderr, force_terminal=True, highlight=False)
        self._line = BottomLine(self._render)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="live line", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._line.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=1.0)
        self._line.stop()

    def tick(self, step: int) -> None:
        self._progress.step = step

    def update(
        self,
        step: int,
        samples_per_second: float | None,
        data_wait: float | None,
        values: Mapping[str, SupportsFloat],
    ) -> None:
        self._progress.update(step, samples_per_second, data_wait, values)

    def _draw(self) -> None:
        while not self._stopped.wait(_SECONDS):
            self._line.draw()

    def _render(self, columns: int) -> str:
        text = self._progress.text(columns)
        text.truncate(columns, overflow="ellipsis")
        with self._rich.capture() as captured:
            self._rich.print(text, end="", no_wrap=True, overflow="ignore", crop=False)
        return captured.get()


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
