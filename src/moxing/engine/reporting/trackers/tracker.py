"""The interface between a run and a tracker, and the thread in which trackers are called."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from moxing.logs import TENSORFLOW

_LONGEST_QUEUE: Final = 10_000
_END_SECONDS: Final = 60.0


class Tracker(Protocol):
    """One open run of a tracker; its methods may raise anything, and may wait for a network."""

    name: str

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Sends values of a global step; steps may come again after a resume."""

    def finish(self, failed: bool) -> None:
        """Ends the tracker's run, or leaves it open if the program opened it."""

    def release(self, failed: bool) -> None:
        """Called after `finish`, in the thread that closes the records."""


class Sender:
    """Calls trackers in a thread of its own, so that no step waits for a network.

    An error of a tracker ends the sending to it, with a warning, and never the run.

    Args:
        trackers: open runs.
        end_seconds: the longest time that `close` waits for.
    """

    def __init__(self, trackers: list[Tracker], end_seconds: float = _END_SECONDS) -> None:
        self._trackers, self._end_seconds = list(trackers), end_seconds
        self._waiting: queue.Queue[Callable[[Any], None] | None] = queue.Queue(_LONGEST_QUEUE)
        self._thread: threading.Thread | None = None
        self._dropped, self._closed = 0, False

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Sends values soon; drops them if too many wait already."""
        kept = dict(values)
        self._put(lambda tracker: tracker.log(step, kept))

    def close(self, failed: bool) -> None:
        """Sends all that waits, ends the trackers' runs, and returns after a bounded time."""
        if self._closed or (not self._trackers and self._thread is None):
            return
        self._closed = True
        self._put(lambda tracker: tracker.finish(failed))
        self._put(None)
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(self._end_seconds)
        if thread is not None and thread.is_alive():
            TENSORFLOW.warning(
                "%s: not everything was sent within %g s; the rest is lost.",
                ", ".join(tracker.name for tracker in self._trackers),
                self._end_seconds,
            )
        else:
            self._call(lambda tracker: tracker.release(failed))
        if self._dropped:
            TENSORFLOW.warning(
                "%d log lines were not sent to %s, which was slower than the training. Log less"
                " often.",
                self._dropped,
                ", ".join(tracker.name for tracker in self._trackers) or "a tracker",
            )

    def _put(self, call: Callable[[Any], None] | None) -> None:
        if not self._trackers and call is not None:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="mox-trackers", daemon=True)
            self._thread.start()
        try:
            self._waiting.put(call, block=call is None, timeout=self._end_seconds)
        except queue.Full:
            self._dropped += 1

    def _work(self) -> None:
        while (call := self._waiting.get()) is not None:
            self._call(call)

    def _call(self, call: Callable[[Any], None]) -> None:
        for tracker in list(self._trackers):
            try:
                call(tracker)
            except Exception as error:
                self._trackers.remove(tracker)
                TENSORFLOW.warning(
                    "%s gets no further values of this run, which goes on without it: %s: %s",
                    tracker.name,
                    type(error).__name__,
                    error,
                )
