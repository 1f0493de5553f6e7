"""Passes connections on between TCP ports inside a network of its own and Unix sockets.

A Unix socket with a path is reached from every network of its machine, a port only from its own.
OpenSSH forwards Unix sockets to other machines, but opens none in a network that it does not run
in: this is the step between the two.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping

_CHUNK = 1 << 18
_BACKLOG = 1024
_CONNECT_SECONDS = 10.0
_PAUSE = 0.02  # Seconds, before a further try.
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER, by which `close` resets a TCP connection.

Target = str | tuple[str, int]  # The path of a Unix socket, or the host and the port of TCP.


def listener(at: Target) -> socket.socket:
    """Returns a socket that listens at a path, which nothing has yet, or at a TCP address.

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
    """Passes connections on in a thread of their own, for as long as this process lives.

    An error of that thread is printed, and ends this process as SIGTERM does: nobody else would
    notice that the connections stand still.

    Args:
        ways: where the connections to each listener lead.
    """

    def run() -> None:
        try:
            asyncio.run(_serve(ways))
        except BaseException as error:
            print(f"The forwarding of connections has ended: {error!r}", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run, daemon=True).start()


async def _serve(ways: Mapping[socket.socket, Target]) -> None:
    await asyncio.gather(*(_accept(near, target) for near, target in ways.items()))


async def _accept(near: socket.socket, target: Target) -> None:
    loop, carried = asyncio.get_running_loop(), set()
    while True:
        try:
            connection, _ = await loop.sock_accept(near)
        except OSError:  # No descriptor is free, or the other side has gone already.
            await asyncio.sleep(_PAUSE)
            continue
        task = loop.create_task(_carry(connection, target))
        carried.add(task)
        task.add_done_callback(carried.discard)


async def _carry(near: socket.socket, target: Target) -> None:
    """Connects one connection to its target, and passes bytes on until both sides have ended."""
    with near:
        far = None
        try:
            far = await _connected(target)
            for each in (near, far):
                each.setblocking(False)
                if each.family == socket.AF_INET:
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await _both_ways(near, far)
        except OSError:
            # A TCP end breaks off, too; a Unix socket can only end.
            for each in (near, far):
                if each is not None and each.family == socket.AF_INET:
                    with contextlib.suppress(OSError):
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        finally:
            if far is not None:
                far.close()


async def _both_ways(near: socket.socket, far: socket.socket) -> None:
    ways = [asyncio.ensure_future(_copy(*pair)) for pair in ((near, far), (far, near))]
    try:
        await asyncio.gather(*ways)
    except OSError:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        raise


async def _copy(source: socket.socket, sink: socket.socket) -> None:
    loop, buffer = asyncio.get_running_loop(), memoryview(bytearray(_CHUNK))
    while count := await loop.sock_recv_into(source, buffer):
        await loop.sock_sendall(sink, buffer[:count])
    with contextlib.suppress(OSError):  # The other side has ended, too.
        sink.shutdown(socket.SHUT_WR)


async def _connected(target: Target) -> socket.socket:
    """Returns a connection to the target.

    Raises:
        OSError: nothing listens there.
    """
    loop, unix = asyncio.get_running_loop(), isinstance(target, str)
    far = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
    far.setblocking(False)
    try:
        if unix:
            await _until_taken(lambda: far.connect(target))
        else:
            await asyncio.wait_for(loop.sock_connect(far, target), _CONNECT_SECONDS)
    except BaseException:
        far.close()
        raise
    return far


async def _until_taken(connect: Callable[[], None]) -> None:
    """Connects to a Unix socket, which has no room for a connection while many others wait."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return connect()
        except BlockingIOError:  # Not in progress, as for TCP: nothing has happened.
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(_PAUSE)
