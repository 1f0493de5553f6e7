"""Sends and receives JSON messages over a socket, one a line: never blocks, trusts no input.

Once a link is sealed, each line ends with a space and the mark of its message.
"""

from __future__ import annotations

import contextlib
import errno
import json
import selectors
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from moxing.cluster.secret import Seal

LONGEST_HELLO = 64 << 10
LONGEST = 8 << 20
_MOST_WAITING = 64 << 20
_CHUNK = 64 << 10
# A lost machine acknowledges no packets; for a stopped process the kernel still does.
_GONE_SECONDS = 10


class Link:
    """One connection. `lost` says why it ended; None while it is open.

    `foreign` is True if another program answers, and `unsealed` if a message lacks its mark.

    `send` may be called from any thread, `receive` from one thread only. Messages that the network
    does not take at once wait in memory until `flush`.
    """

    def __init__(self, connection: socket.socket, longest: int = LONGEST) -> None:
        self.socket = connection
        self.longest = longest
        self.lost: str | None = None
        self.foreign = False
        self.unsealed = False
        self._in = bytearray()
        self._out = bytearray()
        self._sending: Seal | None = None
        self._receiving: Seal | None = None
        self._lock = threading.Lock()
        connection.setblocking(False)
        _tune(connection)

    def fileno(self) -> int:
        return self.socket.fileno()

    @property
    def unsent(self) -> bool:
        return bool(self._out)

    def seal(self, sending: Seal, receiving: Seal) -> None:
        """From now on marks messages, and refuses received messages without a mark."""
        with self._lock:
            self._sending, self._receiving = sending, receiving

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message, or keeps it for `flush`; does nothing on a lost link."""
        self.send_encoded(encoded(message))

    def send_encoded(self, body: bytes) -> None:
        """Like `send`, for a message that goes to many links and was `encoded` once for all."""
        with self._lock:
            if self.lost is not None:
                return
            self._out += body if self._sending is None else body + b" " + self._sending.next(body)
            self._out += b"\n"
            if len(self._out) > _MOST_WAITING:
                self.lost = "it no longer reads what is sent"
                return
        self.flush()

    def flush(self) -> None:
        """Sends as many of the waiting bytes as the network takes now."""
        with self._lock:
            try:
                while self._out:
                    del self._out[: self.socket.send(self._out[:_CHUNK])]
            except BlockingIOError:
                pass
            except OSError:
                # The other side's last messages may still be unread, so `receive` reports the loss.
                self._out.clear()

    def receive(self, most: int | None = None) -> list[dict[str, Any]]:
        """Returns the complete messages; sets `lost` if the connection ended or sent nonsense.

        Args:
            most: the most messages to return; the next call begins with the rest. A task that seals
                the link when it reads a message reads single messages, since the message after it
                must have a mark.
        """
        try:
            for _ in range(16):
                data = self.socket.recv(_CHUNK)
                if not data:
                    self.lost = self.lost or "connection lost"
                    break
                self._in += data
        except BlockingIOError:
            pass
        except OSError as error:
            self.lost = self.lost or _why(error)
        return self._messages(most)

    def _messages(self, most: int | None) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        while not self.foreign and (most is None or len(messages) < most):
            end = self._in.find(b"\n")
            if end < 0:
                if len(self._in) > self.longest or (self._in and self._in[0] != ord("{")):
                    self._nonsense()
                break
            line = bytes(self._in[:end])
            del self._in[: end + 1]
            message = self._read(line) if len(line) <= self.longest else None
            if message is None:
                self._nonsense()
                break
            messages.append(message)
        return messages

    def _read(self, line: bytes) -> dict[str, Any] | None:
        """Returns the message of a line; None if it is no message or lacks its mark."""
        if self._receiving is None:
            return _parsed(line)
        body = self._receiving.opened(line)
        self.unsealed = body is None
        return None if body is None else _parsed(body)

    def _nonsense(self) -> None:
        self.foreign = True
        self.lost = "it speaks another protocol"
        if self.unsealed:
            self.lost = "it sent what no holder of the job's secret has sealed"
        self._in.clear()

    def close(self) -> None:
        """Closes the connection at once."""
        self.lost = self.lost or "closed"
        with contextlib.suppress(OSError):
            self.socket.close()


def close_all(links: Iterable[Link], seconds: float) -> None:
    """Sends the rest, and waits up to `seconds` until the other sides have read it.

    A socket that is closed with unread input resets its connection, and the last messages may be
    lost; so each socket is read to its end. This starts no threads, so that it also works while the
    interpreter exits.
    """
    waiting = {link for link in links if link.lost is None}
    ending: set[Link] = set()
    deadline = time.monotonic() + seconds
    while waiting and (left := deadline - time.monotonic()) > 0:
        for link in waiting - ending:
            link.flush()
            if not link.unsent:
                ending.add(link)
                with contextlib.suppress(OSError):
                    link.socket.shutdown(socket.SHUT_WR)
        with selectors.DefaultSelector() as selector:
            for link in waiting:
                wanted = selectors.EVENT_WRITE if link.unsent else 0
                selector.register(link, selectors.EVENT_READ | wanted)
            ready = {key.fileobj for key, _ in selector.select(left)}
        for link in list(waiting & ready):
            link.receive()
            if link.lost is not None:
                waiting.discard(link)
    for link in links:
        link.close()


def encoded(message: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a message without its mark, which differs on each link."""
    return json.dumps(message, separators=(",", ":")).encode()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict) and isinstance(message.get("kind"), str):
        return message
    return None


def _why(error: OSError) -> str:
    if error.errno == errno.ETIMEDOUT:
        return f"its machine has not answered for {_GONE_SECONDS} s"
    return "connection lost"


def _tune(connection: socket.socket) -> None:
    options = [
        (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 4),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 2),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", _GONE_SECONDS * 1000),
    ]
    for level, name, value in options:
        # Not every system has each option, and a socketpair has none of them.
        if hasattr(socket, name):
            with contextlib.suppress(OSError):
                connection.setsockopt(level, getattr(socket, name), value)
