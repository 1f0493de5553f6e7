"""Connects a task to the chief, and waits with the chief for the other tasks.

A task that has the job's secret sends no facts about itself, and trusts no message, before the
other side has proven that it has the secret too.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Mapping
from typing import Any

from moxing.cluster.addresses import split
from moxing.cluster.cluster import MOST_TASKS, Cluster, named
from moxing.cluster.failure import MissingPeerError
from moxing.cluster.rendezvous import handshake
from moxing.cluster.rendezvous.reception import PROGRESS_SECONDS, listed, waiting_line
from moxing.cluster.secret import FILE_VARIABLE, VARIABLE
from moxing.cluster.wire import LONGEST_HELLO, Link
from moxing.errors import MoxRuntimeError, escaped, shown
from moxing.logs import TENSORFLOW

_RETRY_SECONDS = 0.2
_TURN_SECONDS = 1.0  # Time of a wait for the chief's answer before the next look at the clock.
_VERDICT_SECONDS = 5.0
_LONGEST_WAIT = 366 * 86400.0  # Seconds that a chief may say are left.
# After a restart by a launcher, an earlier job's server may need a moment to end.
_FOREIGN_SECONDS = 5.0


def dial(cluster: Cluster, greeting: Mapping[str, Any], deadline: float) -> tuple[Link, str]:
    """Returns the link to the chief and the job's name once the chief says that all are there.

    Raises:
        MissingPeerError: another program answers in the chief's place, or the deadline has passed.
        MoxRuntimeError: the chief refuses.
    """
    return _Dialer(cluster, greeting, deadline).dial()


class _Dialer:
    def __init__(self, cluster: Cluster, greeting: Mapping[str, Any], deadline: float) -> None:
        self._chief = named("worker 0, the chief", cluster.workers[0])
        self._host, self._port = split(cluster.workers[0])
        self._greeting, self._secret = greeting, cluster.secret
        self._asked: dict[str, Any] | None = None  # The question that is not answered yet.
        # Once the chief is reached, it decides on the timeout, so that all tasks report the same.
        self._deadline = self._own_deadline = deadline
        self._began = self._said = time.monotonic()
        self._missing: list[str] = []
        self._count = 0
        self._state = "it has not been reached yet"
        self._foreign_since: float | None = None
        self._unproven_since: float | None = None
        self._claim = ""

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
        self._asked = None if self._secret is None else handshake.question()
        link.send(self._asked or self._greeting)
        return link

    def _wait_at(self, link: Link) -> str | None:
        """Returns the job's name; None if the connection ended without a decision."""
        try:
            while link.lost is None:
                # select() can't take descriptors above 1,023.
                with selectors.PollSelector() as selector:
                    wanted = selectors.EVENT_WRITE if link.unsent else 0
                    selector.register(link, selectors.EVENT_READ | wanted)
                    ready = selector.select(_TURN_SECONDS)
                if ready:
                    link.flush()
                    if (job := self._read(link)) is not None:
                        return job
                self._check_time()
        except BaseException:
            link.close()
            raise
        link.close()
        self._missing, self._deadline = [], self._own_deadline
        self._state = "it closed the connection"
        if self._asked is not None and not link.foreign:
            self._state += f" without a proof that it has the job's secret ({VARIABLE})"
        if link.foreign and not link.unsealed:
            self._note_foreign()
        return None

    def _read(self, link: Link) -> str | None:
        """Returns the job's name, once the chief has said that all are there.

        Later messages stay in the link.
        """
        while messages := link.receive(1):
            (message,) = messages
            if self._asked is not None:
                if not self._is_proven(link, self._asked, message):
                    return None
            elif message["kind"] == "start":
                return str(message.get("job"))
            else:
                self._note(message)
            self._check_time()
        return None

    def _is_proven(self, link: Link, asked: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
        """Greets a chief that proves that it has the secret; closes the link to any other."""
        assert self._secret is not None
        if handshake.is_proof(self._secret, asked, message):
            self._asked = self._unproven_since = self._foreign_since = None
            handshake.seal(link, self._secret, handshake.TASK, asked["nonce"], message["nonce"])
            link.send(self._greeting)
            return True
        self._unproven_since = self._unproven_since or time.monotonic()
        reason = message.get("reason") if message["kind"] == "refused" else None
        self._claim = f" It says: {shown(reason)}" if isinstance(reason, str) else ""
        link.lost = "it does not have the job's secret"
        return False

    def _note(self, message: Mapping[str, Any]) -> None:
        if message["kind"] == "refused":
            kind = MissingPeerError if message.get("again") is True else MoxRuntimeError
            raise kind(escaped(str(message.get("reason"))))
        if message["kind"] == "waiting" and isinstance(message.get("missing"), list):
            self._missing = [escaped(str(task)) for task in message["missing"]]
            count = message.get("count")
            self._count = len(self._missing)
            if isinstance(count, int) and 0 <= count <= MOST_TASKS:
                self._count = count
            left = message.get("left")
            if isinstance(left, int | float) and 0 <= left <= _LONGEST_WAIT:  # NaN is not.
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
        if self._unproven_since is not None and now - self._unproven_since >= _FOREIGN_SECONDS:
            raise MissingPeerError(
                f"The program that answers in place of {self._chief} does not have this task's"
                " secret of the job: it is no task of this job, or was started without the same"
                f" {VARIABLE} or {FILE_VARIABLE}.{self._claim}"
            )
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
