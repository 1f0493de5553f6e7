"""Runs a session's steps in the order of their calls, so that the caller need not wait."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxRuntimeError

# The largest number of queued steps: enough to keep the device busy, few enough to keep their
# results in memory.
DEPTH = 16
_POLL = 0.2  # In seconds; between two polls the main thread can handle Ctrl-C.


class Future:
    """The future result of a step.

    Attributes:
        value: the result of the step.
        error: the exception of the step.
        raised: whether the error was raised to the program.
    """

    def __init__(self) -> None:
        self._done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.raised = False

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Ends the wait."""
        self.value, self.error = value, error
        self._done.set()

    def wait(self) -> None:
        """Waits for the step."""
        while not self._done.wait(_POLL):
            pass

    def result(self) -> Any:
        """Waits for the value and returns it, or raises the error of the step."""
        self.wait()
        if self.error is not None:
            self.raised = True
            raise self.error
        return self.value


class DroppedError(MoxRuntimeError):
    """Raised in place of the result of a call that a signal dropped before it ran."""

    def __init__(self) -> None:
        super().__init__("this call was dropped by Ctrl-C or a signal before it ran.")


class Worker:
    """A thread that runs steps, and a thread that passes their results to callbacks.

    Attributes:
        faults: the errors of callbacks.
        dropped: the number of dropped steps.
    """

    def __init__(self) -> None:
        self._steps: queue.Queue[Any] = queue.Queue(DEPTH)
        self._results: queue.Queue[Any] = queue.Queue(DEPTH)
        self.faults: list[BaseException] = []
        self._failed: list[Future] = []
        # The number of calls of `drop`. Steps queued before the last one are not run, so that a
        # signal's handler need not take them out of the queue: the thread that the signal
        # interrupts may hold the queue's lock.
        self._drops, self.dropped = 0, 0
        for target, source in ((self._step, self._steps), (self._hand_over, self._results)):
            threading.Thread(target=target, args=(source,), name="flow", daemon=True).start()

    def submit(self, step: Callable[[], Any]) -> Future:
        """Queues a step; waits while the queue is full."""
        self.raise_fault()
        future = Future()
        _put(self._steps, (step, future, self._drops))
        return future

    def drop(self) -> None:
        """Drops the queued steps; the running step goes on. May be called at any time."""
        self._drops += 1

    def when_done(self, future: Future, callback: Callable[[Any], None]) -> None:
        """Calls `callback` with the result.

        An error of the callback is raised at the next call of the session.
        """
        _put(self._results, (future, callback))

    def drain(self, gives_up: Callable[[], bool] = lambda: False) -> bool:
        """Waits until all queued steps are done.

        Args:
            gives_up: says that the wait has lasted long enough; asked while a step runs.

        Returns:
            Whether they are done.
        """
        for waiting in (self._steps, self._results):
            while waiting.unfinished_tasks:
                if gives_up():
                    return False
                with waiting.all_tasks_done:
                    waiting.all_tasks_done.wait(_POLL)
        self.raise_fault()
        return True

    def close(self) -> None:
        """Ends the threads."""
        _put(self._steps, None)
        _put(self._results, None)

    def raise_fault(self) -> None:
        """Raises the error of a callback, or of a step, if the program has not seen it yet."""
        if self.faults:
            raise self.faults.pop(0)
        while self._failed:
            future = self._failed.pop(0)
            if not future.raised:
                future.result()

    def _step(self, source: queue.Queue[Any]) -> None:
        while (item := source.get()) is not None:
            step, future, drops = item
            try:
                if drops == self._drops:
                    future.settle(step(), None)
                else:
                    self.dropped += 1
                    future.settle(None, DroppedError())
            except BaseException as error:
                self._failed.append(future)
                future.settle(None, error)
            finally:
                source.task_done()

    def _hand_over(self, source: queue.Queue[Any]) -> None:
        while (item := source.get()) is not None:
            future, callback = item
            future.wait()
            try:
                if future.error is None:
                    callback(future.value)
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
