"""A run in a cell of a notebook: its live line, fewer log lines, and the HTML of its result."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsFloat

from moxing.engine.wording.option_names import option
from moxing.logs import TENSORFLOW, console_handlers

_SECONDS = 0.5  # Time between two updates of the line, each of which is a message to the browser.
_FREE = 20  # Log lines of steps that a cell shows before it begins to leave lines out.
_PAUSE = 30.0  # Seconds between the further lines that a cell shows.
_VALUES = "step: "
_SPEED = "global_step/sec: "  # The live line shows it, and always the newest value.


def shell() -> Any:
    """Returns the IPython shell whose cell this thread runs; None outside of notebooks.

    IPython in a terminal has no kernel, and has the live line of terminals.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if getattr(found, "kernel", None) is not None else None


@contextlib.contextmanager
def opened(
    notebook: Any, title: str, end_step: int | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[CellConsole]:
    """Shows the live line in the current cell, and limits its log lines, in the block."""
    # The live line of a terminal needs no TensorFlow, which these modules import.
    from moxing.engine.job.job import Result
    from moxing.engine.reporting.records import in_html

    notebook.display_formatter.formatters["text/html"].for_type(Result, in_html.of_result)
    console = CellConsole(title, end_step, clock)
    fewer, handlers = FewerLines(clock), console_handlers()
    for handler in handlers:
        handler.addFilter(fewer)
    try:
        yield console
    finally:
        for handler in handlers:
            handler.removeFilter(fewer)
        console.stop()
        if fewer.hidden:
            TENSORFLOW.info(
                "%d log lines of steps are not shown in this cell. In %s, metrics.jsonl has the"
                " values of all of them.",
                fewer.hidden,
                option("log_dir"),
            )


class CellConsole:
    """The `Console` of a cell. The run's own thread updates it: a kernel knows a cell by thread."""

    live = True

    def __init__(self, title: str, end_step: int | None, clock: Callable[[], float]) -> None:
        from IPython.display import display

        from moxing.engine.reporting.live_text import Progress

        self._progress, self._clock = Progress(title, end_step, clock), clock
        self._next = clock() + _SECONDS
        self._shown: Any = display(self._bundle(), raw=True, display_id=True)

    def tick(self, step: int) -> None:
        self._progress.step = step
        if self._clock() >= self._next:
            self._draw()

    def update(
        self,
        step: int,
        samples_per_second: float | None,
        data_wait: float | None,
        values: Mapping[str, SupportsFloat],
    ) -> None:
        self._progress.update(step, samples_per_second, data_wait, values)

    def stop(self) -> None:
        """Leaves the line in the cell as it stands at the end of the run."""
        self._draw()

    def _draw(self) -> None:
        self._next = self._clock() + _SECONDS
        try:
            self._shown.update(self._bundle(), raw=True)
        except Exception as error:  # The run goes on without its line.
            TENSORFLOW.debug("The live line is lost: %r", error)
            self._next = float("inf")

    def _bundle(self) -> dict[str, str]:
        return {"text/plain": self._progress.text().plain}


class FewerLines(logging.Filter):
    """Passes the first log lines of steps, then a line each `_PAUSE` seconds; no lines of speed.

    Attributes:
        hidden: the number of lines of steps that were left out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.hidden = 0
        self._clock, self._passed, self._last = clock, 0, 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != TENSORFLOW.name or record.levelno > logging.INFO:
            return True
        message = record.getMessage()
        if message.startswith(_SPEED):
            return False
        if not message.startswith(_VALUES):
            return True
        now = self._clock()
        if self._passed < _FREE or now - self._last >= _PAUSE:
            self._passed, self._last = self._passed + 1, now
            return True
        self.hidden += 1
        return False
