"""Notes the signals that ask the launcher to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_ONE_REQUEST = 0.5  # Seconds in which one who asks once may signal twice, as `timeout` does.


class Stop:
    """Which signal came last, and how often one asked; true once one has come."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.count = 0
        self._last = 0.0

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """143 for SIGTERM, 130 for Ctrl-C."""
        return 128 + (self.signal or 0)

    def note(self, number: int, now: float) -> None:
        """Takes a signal that came at `now`, `time.monotonic()`."""
        if not self.count or now - self._last >= _ONE_REQUEST:
            self.count += 1
            self._last = now
        self.signal = number


@contextmanager
def noted() -> Iterator[Stop]:
    """Notes signals inside the block, instead of dying of them."""
    stop = Stop()

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        stop.note(number, time.monotonic())

    before = {number: signal.signal(number, note) for number in _HANDLED}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
