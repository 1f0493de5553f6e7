"""Lets a second Ctrl-C end a program whose main thread does not come back from native code.

Python acts on a signal between two bytecodes of the main thread. A `session.run` that waits, as for
a queue that nobody fills, runs no bytecode, so no number of Ctrl-C would end the process. Runs of
the engine have the same rule for a step, in `engine/process/stopping.py`.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from moxing import leaving, signals
from moxing.legacy.program import complaints

_PATIENCE = 0.5  # Seconds after Ctrl-C until a line says that the program does not act on it.


class _Interrupts:
    """Ctrl-C, as far as this process has heard of it and its main thread has acted on it."""

    def __init__(self) -> None:
        self._acted = 0  # How often the main thread has acted.
        self._settled = 0  # The same, when Ctrl-C was last heard and acted on.

    @property
    def has_acted(self) -> bool:
        """Whether the main thread has ever acted."""
        return self._acted > 0

    @signals.as_default
    def act(self, number: int, frame: FrameType | None) -> None:
        """Does what Python does at Ctrl-C; the main thread calls it."""
        self._acted += 1
        signal.default_int_handler(number, frame)

    def listen(self, receiver: socket.socket) -> None:
        """Ends the process at a second Ctrl-C, unless the main thread acted on the first."""
        first = 0.0
        while True:
            try:
                heard = receiver.recv(1)
            except TimeoutError:
                receiver.settimeout(None)
                if self._is_deaf():
                    complaints.say(
                        "Ctrl-C: the program is in native code, such as a session.run that waits"
                        " for data. Press it again to end at once."
                    )
                else:
                    first, self._settled = 0.0, self._acted
                continue
            if not heard:
                return
            if heard[0] != signal.SIGINT:
                continue
            if not first:
                first = time.monotonic()
                receiver.settimeout(_PATIENCE)
            elif self._is_deaf() and time.monotonic() - first >= signals.ONE_REQUEST:
                complaints.say("interrupted")
                leaving.at_once(complaints.INTERRUPTED)

    def _is_deaf(self) -> bool:
        """Whether the main thread has not acted; programs with handlers of their own are left."""
        mine = signal.getsignal(signal.SIGINT) == self.act
        return mine and self._acted == self._settled


def behind(error: BaseException) -> BaseException:
    """Returns KeyboardInterrupt for an error that native code made of one; else the error.

    TensorFlow calls Python from native code, where Ctrl-C may become a SystemError, and that again
    another error.
    """
    act = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    if not isinstance(act, _Interrupts) or not act.has_acted:
        return error
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        if isinstance(found, SystemError | KeyboardInterrupt):
            return KeyboardInterrupt()
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return error


@contextmanager
def second_ends() -> Iterator[None]:
    """In the block, which runs a program, a second Ctrl-C ends the process if the first did not."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or not signals.in_main_thread():
        yield
        return
    interrupts = _Interrupts()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, interrupts.act)
    os.register_at_fork(after_in_child=lambda: _forget(sender))
    thread = threading.Thread(
        target=interrupts.listen, args=(receiver,), name="interrupts", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) == interrupts.act:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _forget(sender, before)
        sender.close()  # The thread reads the end.
        thread.join(_PATIENCE)
        receiver.close()


def _forget(sender: socket.socket, before: int = -1) -> None:
    """Sends no more signals here: a forked child would tell its parent of its own."""
    with suppress(ValueError):  # This is not the main thread.
        number = signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        if number not in (-1, sender.fileno()):
            signal.set_wakeup_fd(number)  # It is the program's own.
