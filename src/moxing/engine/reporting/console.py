"""The live line, which shows a run's progress at the bottom of a terminal.

Files and pipes get the log lines alone. On a terminal, log lines keep their bytes and scroll by
above one line that is drawn anew four times a second.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, SupportsFloat

from moxing.engine.reporting import cell
from moxing.engine.reporting.bottom_line import Above
from moxing.logs import TENSORFLOW

if TYPE_CHECKING:
    from moxing.engine.reporting.live_text import LiveConsole


class Console(Protocol):
    """Receives the progress of a step loop. No method raises an error.

    Attributes:
        live: whether there is a line to draw; if not, a loop may leave out its calls.
    """

    live: bool

    def tick(self, step: int) -> None:
        """Tells how many steps are done; cheap enough to be called at every step."""
        ...

    def update(
        self,
        step: int,
        samples_per_second: float | None,
        data_wait: float | None,
        values: Mapping[str, SupportsFloat],
    ) -> None:
        """Tells the values of a log line.

        Args:
            step: how many steps are done.
            samples_per_second: None if it is not known.
            data_wait: share of the time, from 0 to 1, that steps waited for input; None if it is
                not known.
            values: logged scalars by name.
        """
        ...


class SilentConsole:
    """Draws no line."""

    live = False

    def tick(self, step: int) -> None:
        del step

    def update(
        self,
        step: int,
        samples_per_second: float | None,
        data_wait: float | None,
        values: Mapping[str, SupportsFloat],
    ) -> None:
        del step, samples_per_second, data_wait, values


@contextlib.contextmanager
def open_console(title: str, end_step: int | None) -> Iterator[Console]:
    """Draws the live line in the block, if `sys.stderr` is a terminal.

    Args:
        title: what runs, such as "train". Inside the block of another live line, no line is drawn.
        end_step: the number of steps at the end, counted as in `tick`. None, or a number that means
            no limit (`sys.maxsize`): the line shows elapsed time instead.
    """
    if (notebook := cell.shell()) is not None and os.environ.get("MOX_SILENT_MODE") != "1":
        with cell.opened(notebook, title, end_step) as in_cell:
            yield in_cell
        return
    console = _live(title, end_step) if _wanted(os.environ) else None
    if console is None:
        yield SilentConsole()
        return
    try:
        yield console
    finally:
        console.stop()


def _live(title: str, end_step: int | None) -> LiveConsole | None:
    try:
        from moxing.engine.reporting.live_text import LiveConsole

        console = LiveConsole(title, end_step)
        console.start()
    except Exception as error:
        TENSORFLOW.debug("There is no live line: %r", error)
        return None
    return console


def _wanted(environment: Mapping[str, str]) -> bool:
    """Whether stderr is a terminal that can redraw a line, and the environment allows it."""
    dumb = environment.get("TERM", "") in ("", "dumb", "unknown")
    if dumb or environment.get("MOX_SILENT_MODE") == "1" or isinstance(sys.stderr, Above):
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # There is no stream, or it is closed.
        return False
