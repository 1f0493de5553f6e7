"""Records the signals that ask the launcher to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from moxing import signals
from moxing.launch import show
from moxing.signals import StopRequest


@contextmanager
def noted() -> Iterator[StopRequest]:
    """In the block, signals are recorded and do not end the process."""
    stop = StopRequest()

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        stop.note(number, time.monotonic())

    # While no task runs, there are no stacks to show.
    with show.on_request(lambda: None), signals.handled((*signals.STOPPING, signal.SIGHUP), note):
        yield stop
