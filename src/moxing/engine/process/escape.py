"""Gets this process out of native code that waits for a lost process, or else ends this process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from moxing import leaving
from moxing.cluster.failure import PeerFailureError
from moxing.logs import TENSORFLOW

_OWN_END_SECONDS = 1.0  # Seconds that a step has to end by itself after a process was lost.
_BREAK_SECONDS = 10.0  # Seconds that a step has to end once its session was closed.
_SAVE_SECONDS = 600.0  # Seconds that a save has to end, which does not wait for other processes.
_TURN_SECONDS = 0.1


class Closable(Protocol):
    """A session, or several sessions that are closed together."""

    def close(self) -> None: ...


class Escape:
    """The way out of sessions that wait for other processes.

    Python can't leave a call of TensorFlow that waits for a lost process. So the session is closed,
    and if that does not help, this process ends. Outside of sessions every wait notices the loss of
    another process, so this process is left alone: it may be uploading a checkpoint.

    Attributes:
        session: the session to close after a loss; None if there is none, or it is saving.
    """

    def __init__(self) -> None:
        self.session: Closable | None = None
        self._armed = True
        self._saves = 0
        self._last: list[Callable[[], None]] = []

    def enter(self, session: Closable) -> None:
        """From now on the main thread may wait for others inside this session."""
        self.session, self._armed = session, True

    def at_ease(self) -> None:
        """From now on the main thread waits for no other process, until it enters a session."""
        self.session, self._armed = None, False

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """In the block this process saves, and is not ended."""
        self._saves += 1
        try:
            yield
        finally:
            self._saves -= 1

    @contextlib.contextmanager
    def last(self, work: Callable[[], None]) -> Iterator[None]:
        """While the block runs, this process is not ended before `work` is done."""
        self._last.append(work)
        try:
            yield
        finally:
            self._last.remove(work)

    def take(self, saves_wait: bool) -> None:
        """Closes the session after a loss, or ends the process; runs in a thread of its own.

        Args:
            saves_wait: whether saves also wait for the lost process.
        """
        since, closing = time.monotonic(), None
        saves_since = since
        while True:
            time.sleep(_TURN_SECONDS)
            now = time.monotonic()
            if not self._armed:
                since = saves_since = now
            elif not self._saves or saves_wait:
                saves_since = now
            elif now - saves_since < _SAVE_SECONDS:
                since = now
            session, waited = self.session, now - since
            if session is not None and session is not closing and waited >= _OWN_END_SECONDS:
                closing = session
                threading.Thread(target=session.close, name="break off", daemon=True).start()
            if waited >= _OWN_END_SECONDS + _BREAK_SECONDS:
                break
        TENSORFLOW.error("The step did not end within %.0f s; leaving.", _BREAK_SECONDS)
        self.leave(PeerFailureError.exit_code)

    @property
    def saves(self) -> bool:
        """Whether a save of this process is running."""
        return self._saves > 0

    def leave(self, code: int, farewell: Callable[[], None] = lambda: None) -> None:
        """Ends the process, from another thread than its main thread, after its last work.

        Args:
            code: the exit code.
            farewell: a function that is called last.
        """
        for work in (*reversed(self._last), farewell):
            try:
                work()
            except Exception as error:
                TENSORFLOW.error("%s", error)
        leaving.at_once(code)
