"""How a task that is not the chief finds the chief, and waits with it for the others."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Mapping
from typing import Any

from moxing.cluster.addresses import split
from moxing.cluster.cluster import Cluster, named
from moxing.cluster.failure import MissingPeerError
from moxing.cluster.reception import PROGRESS_SECONDS, listed, waiting_line
from moxing.cluster.wire import LONGEST_HELLO, Link
from moxing.errors import MoxRuntimeError, escaped
from moxing.logs import TENSORFLOW

_RETRY_SECONDS = 0.2
_TURN_SECONDS = 1.0  # Of waiting for the chief's word, between looks at the clock.
_VERDICT_SECONDS = 5.0
# An earlier job's server may need a moment to go when a launcher restarts everything.
_FOREIGN_SECONDS = 5.0


def dial(cluster: Cluster, greeting: Mapping[str, Any], deadline: float) -> tuple[Link, str]:
    """The link to the chief, and the job's name, once the chief says that all are there.

    Raises:
        MissingPeerError: something else answers in its place, or the deadline has passed.
        MoxRuntimeError: the chief refuses.
    """
    return _Dialer(cluster, greeting, deadline).dial()


class _Dialer:
    def __init__(self, cluster: Cluster, greeting: Mapping[str, Any], deadline: float) -> None:
        self._chief = named("worker 0, the chief", cluster.workers[0])
        self._host, self._port = split(cluster.workers[0])
        self._greeting = greeting
        # Whoever has reached the chief leaves the verdict to it, so that all give the same one.
        self._deadline = self._own_deadline = deadline
        self._began = self._said = time.monotonic()
        self._missing: list[str] = []
        self._count = 0
        self._state = "it has not been reached yet"
        self._foreign_since: float | None = None

    def dial(self) -> tuple[Link, str]:
        while True:
            link = self._connect()
            if link is not None:
                job = self._wait_at(link)
                if job is not None:
                    return link, job
            self._pause()

    def _connect(self) -> Link | None:
        left = max(0.05, min(2.0, self._deadline - time.monotonic()))
        try:
            connection = socket.create_connection((self._host, self._port), timeout=left)
        except OSError as error:
            self._missing, self._foreign_since = [], None
            self._state = (error.strerror or str(error)).lower()
            return None
        link = Link(connection, LONGEST_HELLO)
        link.send(self._greeting)
        return link

    def _wait_at(self, link: Link) -> str | None:
        """The job's name; None when the connection ended without a verdict."""
        try:
            while link.lost is None:
                with selectors.PollSelector() as selector:  # select() knows no file above 1,023.
                    wanted = selectors.EVENT_WRITE if link.unsent else 0
                    selector.register(link, selectors.EVENT_READ | wanted)
                    ready = selector.select(_TURN_SECONDS)
                messages = []
                if ready:
                    link.flush()
                    messages = link.receive()
                while messages:
                    message = messages.pop(0)
                    if message["kind"] == "start":
                        link.put_back(messages)
                        return str(message.get("job"))
                    self._note(message)
                self._check_time()
        except BaseException:
            link.close()
            raise
        link.close()
        self._missing, self._deadline = [], self._own_deadline
        self._state = "it closed the connection"
        if link.foreign:
            self._note_foreign()
        return None

    def _note(self, message: Mapping[str, Any]) -> None:
        if message["kind"] == "refused":
            kind = MissingPeerError if message.get("again") is True else MoxRuntimeError
            raise kind(escaped(str(message.get("reason"))))
        if message["kind"] == "waiting" and isinstance(message.get("missing"), list):
            self._missing = [escaped(str(task)) for task in message["missing"]]
            count = message.get("count")
            self._count = count if isinstance(count, int) else len(self._missing)
            left = message.get("left")
            if isinstance(left, int | float):
                self._deadline = time.monotonic() + left + _VERDICT_SECONDS
            self._foreign_since = None

    def _note_foreign(self) -> None:
        now = time.monotonic()
        self._state = "another program answers there"
        self._foreign_since = self._foreign_since or now
        if now - self._foreign_since >= _FOREIGN_SECONDS:
            raise MissingPeerError(
                f"A server already answers in place of {self._chief}: the job is running, and a "
                "task can't join it late or again. Stop all of its tasks and start them together; "
                "they go on from the last checkpoint. If no such job runs, another program has "
                "this port."
            )

    def _check_time(self) -> None:
        now = time.monotonic()
        waits_for = f"{self._chief}: {self._state}"
        if self._missing:
            waits_for = listed(self._missing, self._count)
        if now >= self._deadline:
            raise MissingPeerError(
                f"Gave up after {now - self._began:.0f} s: no sign of {waits_for}. Check "
                "that each of them was started, with these addresses."
            )
        if now - self._said >= PROGRESS_SECONDS:
            self._said = now
            TENSORFLOW.info("%s", waiting_line(waits_for, self._deadline - now))

    def _pause(self) -> None:
        self._check_time()
        with contextlib.suppress(InterruptedError):
            time.sleep(_RETRY_SECONDS)
