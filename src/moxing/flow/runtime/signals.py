"""Lets Ctrl-C and SIGTERM end a program after the running step, and drop queued steps."""

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

PATIENCE = 25.0  # Seconds after a signal until the running step is taken not to end.


class Interrupts:
    """Handles the signals of a session, from its start to its end.

    A signal drops the queued steps and raises KeyboardInterrupt, or SystemExit with 143, in the
    main thread. A program that catches it may go on, for example with a last save. While the
    session ends, a second signal ends the process. The user's own handlers are left alone.
    """

    def __init__(self) -> None:
        self._drop: Callable[[], None] | None = None
        self._ends, self._late = False, False
        self._since: float | None = None  # The time of the first signal.
        self._process = os.getpid()
        self._request = StopRequest()
        self._before: dict[int, Any] = {}
        self._own = self._handle
        if not signals.in_main_thread():
            return
        found = signals.current(signals.STOPPING)
        self._before = {n: handler for n, handler in found.items() if signals.is_default(handler)}
        signals.install(dict.fromkeys(self._before, self._own))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        # A forked child, such as a reader, handles signals itself.
        if os.getpid() != self._process:
            signals.install({number: self._before[number]})
            os.kill(os.getpid(), number)
            return
        asked_before = bool(self._request)
        now = time.monotonic()
        if not self._request.note(number, now):
            return
        self._since = now if self._since is None else self._since
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
    def overdue(self) -> bool:
        """Whether a signal came so long ago that the process leaves without the running step."""
        return self._since is not None and time.monotonic() - self._since > PATIENCE

    @property
    def exit_code(self) -> int:
        """A shell's exit code for a process that the signal ended; 0 without a signal."""
        return self._request.exit_code if self._request else 0

    def end_begins(self) -> None:
        """From now on a signal raises no error, since the session is ending."""
        self._ends = True

    def ended(self, reached: str, exiting: bool) -> None:
        """Logs, after a signal, which step was reached, and restores the handlers.

        Args:
            reached: such as "step 12 of job train"; used after a signal. Empty if there was no
                step.
            exiting: whether the process ends. Then a signal that came while the session ended ends
                it as that signal does; else it is raised.
        """
        number = self._request.signal
        if number is not None and reached:
            TENSORFLOW.warning("%s: stopped after %s.", signals.name(number), reached)
        now = signals.current(self._before)
        signals.install({n: before for n, before in self._before.items() if now[n] is self._own})
        if self._late and number is not None:
            _leave(number) if exiting else os.kill(os.getpid(), number)


def _leave(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    signals.die_of(number)
