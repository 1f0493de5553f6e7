"""Turns signals into requests to stop, in one way for every part of openmox."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# Seconds within which two signals count as one request: `timeout` signals a process, then its
# group.
ONE_REQUEST: Final = 0.5
# A shell adds this to the number of the signal that ended a process.
EXIT_BASE: Final = 128
_STDERR: Final = 2
STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

Handler = Callable[[int, FrameType | None], None]


def print_stacks_on_request() -> None:
    """From now on SIGUSR1 prints the stacks of all threads, unless it has a handler already.

    The handler is native code: it prints also where the main thread waits for a step.
    """
    if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
        # A faulthandler that was registered before does not notice that signal.signal replaced it.
        faulthandler.unregister(signal.SIGUSR1)
        faulthandler.register(signal.SIGUSR1, file=_STDERR, all_threads=True)


class StopRequest:
    """Records whether and how often a signal asked to stop; true once a signal has asked.

    Attributes:
        signal: the number of the last signal that asked; None if none has.
        count: the number of requests.
        later: called with the number of the first signal, soon after that signal and in a thread of
            its own, as the main thread may be stuck; None: nothing is called.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.count = 0
        self.later: Callable[[int], None] | None = None
        self._last = 0.0

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """143 for SIGTERM and 130 for Ctrl-C, as shells and schedulers count them."""
        return EXIT_BASE + (self.signal or 0)

    def note(self, number: int, now: float) -> bool:
        """Records a signal; returns whether it is a new request.

        Args:
            number: the number of the signal.
            now: the time of the signal, by `time.monotonic()`. A signal within `ONE_REQUEST`
                seconds of a request belongs to that request.
        """
        if self.count and now - self._last < ONE_REQUEST:
            return False
        self.count += 1
        self._last, self.signal = now, number
        return True


def in_main_thread() -> bool:
    """Whether this thread may set signal handlers."""
    return threading.current_thread() is threading.main_thread()


def current(numbers: Iterable[int]) -> dict[int, Any]:
    """Returns the present handlers of these signals."""
    return {number: signal.getsignal(number) for number in numbers}


def as_default(handler: Any) -> Any:
    """Marks a handler, and returns it, that does to the program what Python does by default."""
    handler.mox_as_default = True
    return handler


def is_default(handler: Any) -> bool:
    """Whether a handler is Python's own or does the same: the program has chosen none."""
    usual = handler in (signal.SIG_DFL, signal.default_int_handler)
    return usual or getattr(handler, "mox_as_default", False)


def install(handlers: Mapping[int, Any]) -> None:
    """Sets handlers; None, which stands for a handler outside of Python, sets the default."""
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def handled(numbers: Iterable[int], handler: Handler) -> Iterator[dict[int, Any]]:
    """In the block, `handler` handles these signals; yields the handlers from before."""
    before = current(numbers)
    install(dict.fromkeys(before, handler))
    try:
        yield before
    finally:
        install(before)


def die_of(number: int) -> None:
    """Ends this process as the signal does by default."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def name(number: int) -> str:
    """The name of a signal, such as SIGTERM."""
    return signal.Signals(number).name
