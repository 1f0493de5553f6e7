"""Lets signals stop a run also while its main thread waits in native code, and not its children.

Python runs signal handlers between two bytecodes of the main thread. A step that waits for data, as
from a generator that never yields, comes to none: no number of signals would end the process. So a
thread hears of signals too, and acts on the second where the main thread does not.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from moxing.engine.process import signals
from moxing.engine.process.signals import StopRequest
from moxing.logs import TENSORFLOW

_HANDLED = (signal.SIGTERM, signal.SIGINT)
_ONE_REQUEST = 0.5  # Seconds in which one who asks once may signal twice.
_PATIENCE = 0.5  # Seconds after which a step is said to be in the way of a signal.

# Signal handlers belong to the process, and so does what its forked children must put back.
_handlers_before: dict[int, Any] = {}


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """`signals.stop_on_signals`, made to work in any state of the process.

    What follows within half a second of a signal is the same request: `timeout` signals a process
    and then its group. After that, a second signal acts as it did before the block, or ends the
    process with 143 or 130 where the main thread has not come to handle the first. Children forked
    inside the block, such as workers of a generator, get the handlers of before: they end when they
    are told to.
    """
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _HANDLED}
    with signals.stop_on_signals() as request:
        if threading.current_thread() is not threading.main_thread():
            yield request
            return
        _take_one_request(request, before)
        outer = dict(_handlers_before)  # Of a run whose hook makes this one.
        _handlers_before.update(outer or before)
        try:
            with _heard_by_a_thread(request):
                yield request
        finally:
            _handlers_before.clear()
            _handlers_before.update(outer)


def _take_one_request(request: StopRequest, before: Mapping[int, Any]) -> None:
    """Stands before the handlers of `signals`, which would let the second signal act at once."""
    ask: dict[int, Any] = {number: signal.getsignal(number) for number in _HANDLED}
    asked = 0.0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if not request:
            asked = time.monotonic()
            ask[number](number, frame)
            _install(dict.fromkeys(_HANDLED, handle))
        elif time.monotonic() - asked >= _ONE_REQUEST:
            _install(before)
            os.kill(os.getpid(), number)

    _install(dict.fromkeys(_HANDLED, handle))


def _install(handlers: Mapping[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def _heard_by_a_thread(request: StopRequest) -> Iterator[None]:
    ear, mouth = socket.socketpair()
    with ear, mouth:
        mouth.setblocking(False)
        before = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
        listener = threading.Thread(
            target=_listen, args=(ear, request), name="signals", daemon=True
        )
        listener.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            mouth.close()  # The listener reads the end.
            listener.join(timeout=_PATIENCE)


def _listen(ear: socket.socket, request: StopRequest) -> None:
    first, number = 0.0, 0
    while True:
        try:
            heard = ear.recv(1)
        except TimeoutError:
            ear.settimeout(None)
            if not request:
                _say_waiting(number)
            continue
        if not heard:
            return
        if heard[0] not in _HANDLED or request:  # Else the main thread acts, as it should.
            continue
        if not number:
            first, number = time.monotonic(), heard[0]
            ear.settimeout(_PATIENCE)
        elif time.monotonic() - first >= _ONE_REQUEST:
            os._exit(128 + heard[0])


def _say_waiting(number: int) -> None:
    TENSORFLOW.warning(
        "%s: waiting for this step to end; it computes, or waits for data of input_fn. Send it"
        " again to stop at once.",
        signal.Signals(number).name,
    )


def _leave_child_alone() -> None:
    if not _handlers_before:
        return
    signal.set_wakeup_fd(-1)
    _install(_handlers_before)
    _handlers_before.clear()


os.register_at_fork(after_in_child=_leave_child_alone)
