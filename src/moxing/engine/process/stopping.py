"""Lets signals stop a run, even while its main thread waits in native code.

Python runs signal handlers between two bytecodes of the main thread. A step that waits for data, as
from a generator that never yields, runs no bytecode, so no number of signals would end the process.
Therefore a second thread also hears of signals, and acts on the second signal if the main thread
does not.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from moxing import leaving, signals
from moxing.engine.process import stacks
from moxing.engine.wording import option_names
from moxing.logs import TENSORFLOW
from moxing.signals import STOPPING, StopRequest

_PATIENCE = 0.5  # Seconds after a signal until a warning says that a step delays the stop.

# The handlers from before the run, which forked children get back; handlers belong to the process.
_handlers_before: dict[int, Any] = {}


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turns SIGTERM and Ctrl-C in the block into "finish this step, save it, then leave".

    A second request acts as the signal did before the block, or ends the process with 143 or 130 if
    the main thread has not yet handled the first. Children forked inside the block, such as workers
    of a generator, get the handlers from before the block, so a signal ends them. Only the main
    thread can handle signals; in other threads the request is never set.
    """
    request = StopRequest()
    if not signals.in_main_thread():
        yield request
        return
    before: dict[int, Any] = signals.current(STOPPING)

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        # An earlier signal came to this process, or to another one that reported it.
        asked_before = bool(request)
        if not request.note(number, time.monotonic()):
            return
        if asked_before:
            signals.install(before)
            os.kill(os.getpid(), number)
            return
        TENSORFLOW.warning(
            "%s: stopping after this step. Send it again to stop at once.", signals.name(number)
        )

    outer = dict(_handlers_before)  # The handlers of an outer run, if a hook of it makes this run.
    _handlers_before.update(outer or before)
    try:
        with signals.handled(STOPPING, handle), _heard_by_a_thread(request):
            yield request
    finally:
        _handlers_before.clear()
        _handlers_before.update(outer)


@contextmanager
def _heard_by_a_thread(request: StopRequest) -> Iterator[None]:
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.setblocking(False)
        before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        listen = option_names.carried(_listen)
        listener = threading.Thread(
            target=listen, args=(receiver, request), name="signals", daemon=True
        )
        listener.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            sender.close()  # The listener reads the end of its input, and ends.
            listener.join(timeout=_PATIENCE)


def _listen(receiver: socket.socket, request: StopRequest) -> None:
    first, number = 0.0, 0
    while True:
        try:
            heard = receiver.recv(1)
        except TimeoutError:
            receiver.settimeout(None)
            if not request:
                _say_waiting(number)
            if request.later is not None:
                later = option_names.carried(request.later)
                threading.Thread(target=later, args=(number,), daemon=True).start()
            continue
        if not heard:
            return
        if heard[0] not in STOPPING:
            continue
        if not number:
            first, number = time.monotonic(), heard[0]
            receiver.settimeout(_PATIENCE)
        elif not request and time.monotonic() - first >= signals.ONE_REQUEST:
            leaving.at_once(128 + heard[0])  # Else the main thread acts, as it should.


def _say_waiting(number: int) -> None:
    places = stacks.of_input()
    TENSORFLOW.warning(
        "%s: waiting for this step to end; it computes, or waits for data of %s. Send it again to"
        " stop at once.%s",
        signals.name(number),
        option_names.option("input_fn"),
        "\n  ".join([" Python code of the input is at", *places]) if places else "",
    )


def _leave_child_alone() -> None:
    if not _handlers_before:
        return
    signal.set_wakeup_fd(-1)
    signals.install(_handlers_before)
    _handlers_before.clear()


os.register_at_fork(after_in_child=_leave_child_alone)
