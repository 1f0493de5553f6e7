"""Passes connections on between TCP ports inside a network of its own and Unix sockets.

Every network of a machine can reach a Unix socket with a path, but a TCP port only from within its
own network. OpenSSH forwards Unix sockets to other machines, but can't open ports in a network in
which it does not run: this module connects the two.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from typing import NoReturn, cast

_CHUNK = 1 << 18
_BACKLOG = 1024
_CONNECT_SECONDS = 10
_PAUSE = 0.02  # Seconds, before a further try.
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER, by which `close` resets a TCP connection.

Target = str | tuple[str, int]  # The path of a Unix socket, or the host and the port of TCP.


def listener(at: Target) -> socket.socket:
    """Returns a socket that listens at a path that does not exist yet, or at a TCP address.

    Raises:
        OSError: something is there already, or the process has too many open files.
    """
    family = socket.AF_UNIX if isinstance(at, str) else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(at)
        found.listen(_BACKLOG)
        found.setblocking(False)
    except BaseException:
        found.close()
        raise
    return found


def start(ways: Mapping[socket.socket, Target]) -> None:
    """Passes connections on in threads, for as long as this process lives.

    Each direction of a connection has a thread that waits in the kernel: an event loop of Python
    needs several times as long for a small message.

    If no connection can be accepted any more, this process says so and ends as by SIGTERM: nobody
    else would notice that the connections stand still.

    Args:
        ways: where the connections to each listener lead.
    """

    def run() -> None:
        try:
            _accept(ways)
        except BaseException as error:
            print(f"The forwarding of connections has ended: {error!r}", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run, daemon=True).start()


def _accept(ways: Mapping[socket.socket, Target]) -> NoReturn:
    with selectors.DefaultSelector() as selector:
        for near in ways:
            selector.register(near, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                near = cast(socket.socket, key.fileobj)
                try:
                    connection, _ = near.accept()
                    connection.setblocking(True)
                    words = (connection, ways[near])
                    threading.Thread(target=_carry, args=words, daemon=True).start()
                except (OSError, RuntimeError):
                    # No descriptor or thread is free, or the other side has gone.
                    time.sleep(_PAUSE)


def _carry(near: socket.socket, target: Target) -> None:
    """Connects one connection to its target, and passes bytes on until both sides have ended."""
    with near:
        try:
            far = _connected(target)
        except OSError:
            if near.family == socket.AF_INET:
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        # Errors mean that one side has gone already, or that no thread is free for the way back.
        with far, contextlib.suppress(OSError, RuntimeError):
            for each in (near, far):
                if each.family == socket.AF_INET:
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Passes on the bytes of one direction, and then its end; an error ends both directions."""
    buffer = memoryview(bytearray(_CHUNK))
    try:
        while count := source.recv_into(buffer):
            sink.sendall(buffer[:count])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, sink):
            with contextlib.suppress(OSError):  # This socket has ended already.
                each.shutdown(socket.SHUT_RDWR)


def _connected(target: Target) -> socket.socket:
    """Returns a connection to the target.

    Raises:
        OSError: nothing listens there.
    """
    family = socket.AF_UNIX if isinstance(target, str) else socket.AF_INET
    far = socket.socket(family, socket.SOCK_STREAM)
    try:
        # The kernel limits the wait. With a timeout of Python's, connecting to a Unix socket whose
        # queue is full for the moment would fail at once.
        far.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _CONNECT_SECONDS, 0)
        )
        far.connect(target)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
    except BaseException:
        far.close()
        raise
    return far
