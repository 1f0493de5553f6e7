"""Runs many small units of work in threads; a unit may return further units."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

# A unit returns further units, if any.
Unit = Callable[[], "Sequence[Unit] | None"]

MOST_THREADS = 256
# The maximum seconds for running work to end after Ctrl-C.
PATIENCE = 5.0


def run(
    units: Iterable[Unit],
    threads: int,
    watch: Callable[[], None] | None = None,
    leave: Callable[[], None] | None = None,
) -> None:
    """Runs `units`, and the units that they return, until none is left.

    Units handle their own errors; an error that a unit raises stops all work and is raised here.
    Returned units run before the units that wait longer, so that few files are unfinished at once.

    Args:
      units: the units of work.
      threads: the number of threads; 0: all work runs in the calling thread.
      watch: called about once a second in the calling thread.
      leave: called after all work has ended early, before the error is raised.
    """
    waiting = deque(units)
    crew = _Crew(waiting, min(threads, MOST_THREADS))
    if crew.start():
        crew.work(watch, leave)
    else:
        _run_here(waiting, watch, leave)


def _run_here(
    waiting: deque[Unit], watch: Callable[[], None] | None, leave: Callable[[], None] | None
) -> None:
    told = time.monotonic()
    try:
        while waiting:
            waiting.extendleft(reversed(waiting.popleft()() or ()))
            if watch is not None and time.monotonic() - told >= 1.0:
                told = time.monotonic()
                watch()
    except BaseException:
        if leave is not None:
            leave()
        raise


class _Crew:
    """Threads around one queue. They are daemons, so that Ctrl-C can end the program."""

    def __init__(self, waiting: deque[Unit], threads: int) -> None:
        self._waiting = waiting
        self._busy = 0
        self._error: BaseException | None = None
        self._news = threading.Condition()
        self._threads = [
            threading.Thread(target=self._serve, name=f"mox-file-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> bool:
        """Starts the threads; returns whether any has started."""
        for number, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError:
                # Later Python versions start no threads at a program's end, or there are too many.
                self._threads = self._threads[:number]
                break
        return bool(self._threads)

    def work(self, watch: Callable[[], None] | None, leave: Callable[[], None] | None) -> None:
        """Waits until all work is done."""
        try:
            while self._wait():
                if watch is not None:
                    watch()
            if self._error is not None:
                raise self._error
        except BaseException as error:
            self._stop(error)
            if self._ended() and leave is not None:
                leave()
            raise

    def _wait(self) -> bool:
        """Waits for about a second; returns whether there is still work."""
        until = time.monotonic() + 1.0
        with self._news:
            while not self._done() and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
            return not self._done()

    def _done(self) -> bool:
        return self._error is not None or (not self._waiting and not self._busy)

    def _stop(self, error: BaseException) -> None:
        with self._news:
            self._error = self._error or error
            self._waiting.clear()
            self._news.notify_all()

    def _ended(self) -> bool:
        until = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while (unit := self._take()) is not None:
            try:
                more = unit() or ()
            except BaseException as error:  # noqa: BLE001 (raised again in `work`)
                self._stop(error)
                more = ()
            self._give_back(more)

    def _take(self) -> Unit | None:
        with self._news:
            while not self._waiting:
                if self._done():
                    return None
                self._news.wait(1.0)
            self._busy += 1
            return self._waiting.popleft()

    def _give_back(self, more: Sequence[Unit]) -> None:
        with self._news:
            self._busy -= 1
            if self._error is None:
                self._waiting.extendleft(reversed(more))
            if more or self._done():
                self._news.notify_all()
