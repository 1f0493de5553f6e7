"""Ctrl-C and SIGTERM end a program behind the step that runs, not behind all that were queued."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from moxing import signals
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest


class Interrupts:
    """What a session does with signals, from its start to its end.

    Of a signal the steps that wait are dropped, and the main thread gets KeyboardInterrupt, or
    SystemExit with 143. A program that catches it may go on, as with a last save. While the session
    ends, a second signal ends the process. Handlers of the user's own are left alone.
    """

    def __init__(self) -> None:
        self._drop: Callable[[], None] | None = None
        self._ends, self._late = False, False
        self._process = os.getpid()
        self._request = StopRequest()
        self._before: dict[int, Any] = {}
        self._own = self._handle
        if not signals.in_main_thread():
            return
        for number in signals.STOPPING:
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
        asked_before = bool(self._request)
        if not self._request.note(number, time.monotonic()):
            return
        if self._ends and asked_before:
            _leave(number)
        self._late = self._ends
        if self._drop is None:
            TENSORFLOW.warning("%s: stopping.", signals.name(number))
        else:
            self._drop()
            TENSORFLOW.warning(
                "%s: stopping after this step. Send it again to stop at once.",
                signals.name(number),
            )
        if not self._ends:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def steps_begin(self, drop: Callable[[], None]) -> None:
        """Args: drop: drops the steps that wait; it must take no lock."""
        self._drop = drop

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return bool(self._request)

    @property
    def exit_code(self) -> int:
        """What a shell says of a process that ends by the signal; 0 where none came."""
        return self._request.exit_code if self._request else 0

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
        number = self._request.signal
        if number is not None and reached:
            TENSORFLOW.warning("%s: stopped after %s.", signals.name(number), reached)
        for handled, handler in self._before.items():
            if signal.getsignal(handled) is self._own:
                signal.signal(handled, handler)
        if self._late and number is not None:
            _leave(number) if exiting else os.kill(os.getpid(), number)


def _leave(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    signals.die_of(number)
