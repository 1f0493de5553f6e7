"""Runs a session's steps in the order of their calls, so that the caller need not wait."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxRuntimeError

# Steps that may wait: enough to keep the device busy, few enough to hold their results.
DEPTH = 16
_POLL = 0.2  # Seconds; a wait in the main thread hears of Ctrl-C between two.


class Future:
    """What a step will have returned."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Ends the wait."""
        self._value, self._error = value, error
        self._done.set()

    def result(self) -> Any:
        """The value; waits for it, and raises what the step raised."""
        while not self._done.wait(_POLL):
            pass
        if self._error is not None:
            raise self._error
        return self._value


class DroppedError(MoxRuntimeError):
    """The result of a call that a signal dropped before it ran."""

    def __init__(self) -> None:
        super().__init__("this call was dropped by Ctrl-C or a signal before it ran.")


class Worker:
    """A thread that runs steps, and one that hands their results to callbacks.

    Attributes:
        faults: what callbacks raised.
        dropped: how many steps were dropped.
    """

    def __init__(self) -> None:
        self._steps: queue.Queue[Any] = queue.Queue(DEPTH)
        self._results: queue.Queue[Any] = queue.Queue(DEPTH)
        self.faults: list[BaseException] = []
        # Steps of an older epoch are dropped, so that a signal's handler need not take them out of
        # the queue: the thread that it interrupts may hold the queue's lock.
        self._epoch, self.dropped = 0, 0
        for target, source in ((self._step, self._steps), (self._hand_over, self._results)):
            threading.Thread(target=target, args=(source,), name="flow", daemon=True).start()

    def submit(self, step: Callable[[], Any]) -> Future:
        """Queues a step; waits while the queue is full."""
        self.raise_fault()
        future = Future()
        _put(self._steps, (step, future, self._epoch))
        return future

    def drop(self) -> None:
        """Has steps that wait not run; the one that runs goes on. May be called at any time."""
        self._epoch += 1

    def when_done(self, future: Future, callback: Callable[[Any], None]) -> None:
        """Calls `callback` with the result; what it raises is raised at the next call."""
        _put(self._results, (future, callback))

    def drain(self) -> None:
        """Waits until all that was queued is done."""
        for waiting in (self._steps, self._results):
            while waiting.unfinished_tasks:
                with waiting.all_tasks_done:
                    waiting.all_tasks_done.wait(_POLL)
        self.raise_fault()

    def close(self) -> None:
        """Ends the threads."""
        _put(self._steps, None)
        _put(self._results, None)

    def raise_fault(self) -> None:
        """Raises what a callback raised."""
        if self.faults:
            raise self.faults.pop(0)

    def _step(self, source: queue.Queue[Any]) -> None:
        while (item := source.get()) is not None:
            step, future, epoch = item
            try:
                if epoch != self._epoch:
                    self.dropped += 1
                    raise DroppedError()
                future.settle(step(), None)
            except BaseException as error:
                future.settle(None, error)
            finally:
                source.task_done()

    def _hand_over(self, source: queue.Queue[Any]) -> None:
        while (item := source.get()) is not None:
            future, callback = item
            try:
                callback(future.result())
            except DroppedError:
                pass
            except BaseException as error:
                self.faults.append(error)
            finally:
                source.task_done()


def _put(target: queue.Queue[Any], item: Any) -> None:
    while True:
        try:
            target.put(item, timeout=_POLL)
            return
        except queue.Full:
            continue
