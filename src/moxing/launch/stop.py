"""Notes the signals that ask the launcher to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stop:
    """Which signal came last, and how many came; true once one has come."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.count = 0

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """143 for SIGTERM, 130 for Ctrl-C."""
        return 128 + (self.signal or 0)


@contextmanager
def noted() -> Iterator[Stop]:
    """Notes signals inside the block, instead of dying of them."""
    stop = Stop()

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        stop.signal = number
        stop.count += 1

    before = {number: signal.signal(number, note) for number in _HANDLED}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
