"""Writes one checkpoint at a time in a thread beside the training."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW

_SAID_AFTER = 10.0  # Seconds after which a log line says that the run waits.
_LIMIT = 1800.0  # Seconds after which a write is assumed never to end.
# Added to the niceness of the writing thread. Where all processors are busy, 5 gives the thread a
# third of the time that a thread of the training gets: steps go on at nearly their own speed, and
# the write still ends soon, also beside other programs.
_NICER = 5


class Background:
    """A write in a thread of its own, one at a time; `wait` and `check` raise its error.

    Args:
        limit: seconds that a wait for the write lasts at most.
    """

    def __init__(self, limit: float = _LIMIT) -> None:
        self._limit = limit
        self._thread: threading.Thread | None = None
        self._what, self._given_up = "", False
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def start(self, what: str, write: Callable[[], None]) -> None:
        """Starts a write; call `wait` first, as only one write runs at a time.

        Args:
            what: words after "checkpoint" in messages, such as "of step 100".
            write: the function that writes.
        """

        def run() -> None:
            _give_way()
            try:
                write()
            except BaseException as error:
                self._error = error

        self._what = what
        self._thread = threading.Thread(target=run, name="write of a checkpoint", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises the error of a write that has failed; does not wait."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def wait(self) -> None:
        """Returns when no write runs.

        Raises:
            CheckpointError: the write has not ended within the limit, or the disk made it fail.
        """
        with self._lock:
            thread, began = self._thread, time.monotonic()
            if thread is not None:
                limit = 0.0 if self._given_up else self._limit
                thread.join(min(_SAID_AFTER, limit))
                if thread.is_alive() and not self._given_up:
                    TENSORFLOW.info(
                        "Waiting for checkpoint %s, which is still being written, for at most"
                        " %.0f s.",
                        self._what,
                        self._limit,
                    )
                    thread.join(max(0.0, limit - (time.monotonic() - began)))
                self._given_up = thread.is_alive()
                if self._given_up:
                    raise CheckpointError(
                        f"Checkpoint {self._what} was not written within {self._limit:.0f} s, and"
                        " is not committed: its disk does not answer. Checkpoints saved earlier"
                        " are as they were."
                    )
                self._thread = None
        self.check()


def _give_way() -> None:
    """Leaves the processors to other threads; threads that this thread starts do so, too."""
    if sys.platform == "linux":  # Elsewhere the priority is that of the whole process.
        thread = threading.get_native_id()
        with suppress(OSError):
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, nice + _NICER)
