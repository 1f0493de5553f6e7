"""Turns SIGTERM and Ctrl-C into "finish this step, save it, then leave"."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from moxing.logs import TENSORFLOW

_HANDLED = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Says whether a signal asked this run to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """143 for SIGTERM and 130 for Ctrl-C, as shells and schedulers count them."""
        return 128 + (self.signal or 0)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Handles SIGTERM and SIGINT inside the block; a second one acts as without this module.

    Signals can be handled in the main thread only; elsewhere the request is never set.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in _HANDLED}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if request:
            restore()
            os.kill(os.getpid(), number)
            return
        request.signal = number
        name = signal.Signals(number).name
        TENSORFLOW.warning("%s: stopping after this step. Send it again to stop at once.", name)

    for number in _HANDLED:
        signal.signal(number, handle)
    try:
        yield request
    finally:
        restore()
