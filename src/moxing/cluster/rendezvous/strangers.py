"""Holds connections to the chief from unknown owners: few at once, each for a short time."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import time
from dataclasses import dataclass
from typing import Any

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import handshake
from moxing.cluster.wire import LONGEST_HELLO, Link
from moxing.errors import escaped, shown
from moxing.logs import TENSORFLOW

_SECONDS = 5.0  # Limit for a whole greeting.
_LINES = 3  # Log lines about dropped connections; further ones are only counted.
_PAUSE = 0.05
_NO_FILE = (errno.EMFILE, errno.ENFILE)
DOCTOR = "doctor"  # The kind of a message of `mox doctor --meet`.


@dataclass
class _Stranger:
    since: float
    peer: str
    asked: bool = False
    told: bool = False


class Strangers:
    """Accepts connections, and returns the greetings of tasks that have the secret.

    If there are too many connections, the connection that has been silent for longest is closed: a
    task's greeting takes milliseconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        listener: socket.socket,
        selector: selectors.BaseSelector,
        room: int,
    ) -> None:
        self._secret, self._address = cluster.secret, cluster.address
        self._listener, self._selector, self._room = listener, selector, room
        self._known: dict[Link, _Stranger] = {}
        self._dropped = 0

    def __contains__(self, link: Link) -> bool:
        return link in self._known

    def accept(self) -> None:
        """Accepts the connections that wait at the listener."""
        for _ in range(self._room):
            try:
                connection, address = self._listener.accept()
            except OSError as error:
                if error.errno in _NO_FILE:
                    self._drop_oldest()
                    time.sleep(_PAUSE)  # The listener stays ready, so a pause avoids a busy loop.
                return
            if len(self._known) >= self._room:
                self._drop_oldest()
            link = Link(connection, LONGEST_HELLO)
            peer = escaped(":".join(map(str, address[:2])))
            self._known[link] = _Stranger(time.monotonic(), peer)
            self._selector.register(link, selectors.EVENT_READ)

    def read(self, link: Link) -> dict[str, Any] | None:
        """Returns a greeting with proof of the secret, if it has come; later messages stay unread.

        If this task has no secret, also returns the question of a task that has a secret.
        """
        stranger = self._known[link]
        while messages := link.receive(1):
            (message,) = messages
            if stranger.told:
                continue
            if self._secret is not None and handshake.is_question(message) and not stranger.asked:
                stranger.asked = True  # The mark of the next message is the task's proof.
                answer = handshake.answer(self._secret, message)
                link.send(answer)
                ask, answered = message["nonce"], answer["nonce"]
                handshake.seal(link, self._secret, handshake.CHIEF, ask, answered)
            elif self._may_greet(stranger, message):
                return message
            else:
                self._turn_away(link, message)
        if link.lost is not None:
            self._drop(link, self._complaint(link, stranger))
        return None

    def _may_greet(self, stranger: _Stranger, message: dict[str, Any]) -> bool:
        if self._secret is None and handshake.is_question(message):
            return True
        return handshake.is_hello(message) and (self._secret is None or stranger.asked)

    def refuse(self, link: Link, reason: str) -> None:
        """Sends the reason of a refusal; the other side closes the link, or the time limit does."""
        self._known[link].told = True
        link.send({"kind": "refused", "reason": reason})

    def release(self, link: Link) -> None:
        """Removes a link whose owner is known now."""
        del self._known[link]

    def expire(self, now: float) -> None:
        """Drops connections whose time limit has passed."""
        for link, stranger in list(self._known.items()):
            if now - stranger.since > _SECONDS:
                why = "" if stranger.told or not stranger.asked else self._unproven()
                self._drop(link, why)

    def close(self) -> None:
        """Drops all connections; logs how many were dropped without a line of their own."""
        for link in self._known:
            link.close()
        self._known.clear()
        if self._dropped > _LINES:
            more = self._dropped - _LINES
            TENSORFLOW.info("%d more connections were dropped while the tasks met", more)

    def _turn_away(self, link: Link, message: dict[str, Any]) -> None:
        """Answers a message that is no greeting, or lacks the secret, with a reason."""
        peer = self._known[link].peer
        if message.get("kind") == DOCTOR and not self._known[link].asked:
            self.refuse(link, "a job waits for its tasks at this port")
        elif self._secret is not None and message.get("kind") in ("hello", "prove"):
            self._say_dropped(peer, self._unproven())
            self.refuse(link, handshake.lacks_secret(self._address))
        else:
            self._say_dropped(peer, f"it greeted with {shown(message.get('kind'))}")
            link.lost = link.lost or "it greeted wrongly"
            self._known[link].told = True

    def _complaint(self, link: Link, stranger: _Stranger) -> str:
        if stranger.told:
            return ""
        if stranger.asked:
            return self._unproven()
        return "it speaks another protocol" if link.foreign else ""

    def _unproven(self) -> str:
        return "it has not proven that it has the job's secret"

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._known), None)
        if oldest is not None:
            self._drop(oldest, "others wait, and it has not greeted yet")

    def _drop(self, link: Link, why: str) -> None:
        stranger = self._known.pop(link)
        if why:
            self._say_dropped(stranger.peer, why)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(link)
        link.close()

    def _say_dropped(self, peer: str, why: str) -> None:
        self._dropped += 1
        if self._dropped <= _LINES:
            TENSORFLOW.info("Dropped the connection from %s: %s", peer, why)
