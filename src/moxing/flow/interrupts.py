"""Ctrl-C and SIGTERM end a program behind the step that runs, not behind all that were queued."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from moxing.logs import TENSORFLOW

_HANDLED = (signal.SIGINT, signal.SIGTERM)
_ONE_REQUEST = 0.5  # Seconds in which one who asks once may signal twice, as `timeout` does.


class Interrupts:
    """What a session does with signals, from its start to its end.

    Of a signal the steps that wait are dropped, and the main thread gets KeyboardInterrupt, or
    SystemExit with 143. A program that catches it may go on, as with a last save. While the session
    ends, a second signal ends the process. Handlers of the user's own are left alone.
    """

    def __init__(self) -> None:
        self._drop: Callable[[], None] | None = None
        self._asked, self._ends, self._late = 0.0, False, False
        self._process = os.getpid()
        self._signal: int | None = None
        self._before: dict[int, Any] = {}
        self._own = self._handle
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _HANDLED:
            found = signal.getsignal(number)
            if found in (signal.SIG_DFL, signal.default_int_handler):
                self._before[number] = found
                signal.signal(number, self._own)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if os.getpid() != self._process:  # A forked child, such as a reader: no concern of ours.
            signal.signal(number, self._before[number])
            os.kill(os.getpid(), number)
            return
        if self._signal is not None and time.monotonic() - self._asked < _ONE_REQUEST:
            return
        if self._ends and self._signal is not None:
            _leave(number)
        self._signal, self._asked, self._late = number, time.monotonic(), self._ends
        if self._drop is None:
            TENSORFLOW.warning("%s: stopping.", signal.Signals(number).name)
        else:
            self._drop()
            TENSORFLOW.warning(
                "%s: stopping after this step. Send it again to stop at once.",
                signal.Signals(number).name,
            )
        if not self._ends:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def steps_begin(self, drop: Callable[[], None]) -> None:
        """Args: drop: drops the steps that wait; it must take no lock."""
        self._drop = drop

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self._signal is not None

    @property
    def exit_code(self) -> int:
        """What a shell says of a process that ends by the signal; 0 where none came."""
        return 128 + self._signal if self._signal is not None else 0

    def end_begins(self) -> None:
        """From now on a signal raises nothing: the session ends anyhow."""
        self._ends = True

    def ended(self, reached: str, exiting: bool) -> None:
        """Says what was reached where a signal came, and puts the handlers back.

        Args:
            reached: such as "step 12 of job train"; read where a signal came. Empty: no step.
            exiting: whether the process ends. Then a signal that came while the session ended ends
                it as that signal does; else it is raised.
        """
        if self._signal is not None and reached:
            TENSORFLOW.warning("%s: stopped after %s.", signal.Signals(self._signal).name, reached)
        for number, handler in self._before.items():
            if signal.getsignal(number) is self._own:
                signal.signal(number, handler)
        if self._late and self._signal is not None:
            _leave(self._signal) if exiting else os.kill(os.getpid(), self._signal)


def _leave(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
