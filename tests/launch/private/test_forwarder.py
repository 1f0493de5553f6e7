"""Connections that pass through the forwarder arrive as they were made: bytes, ends and breaks."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from moxing.launch.ports import free_ports
from moxing.launch.private import forwarder

# From a TCP port over a Unix socket to another TCP port, as between two tasks.
RELAY = """
import sys, time
from moxing.launch.private import forwarder
near, path, far = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
forwarder.start({
    forwarder.listener(("127.0.0.1", near)): path,
    forwarder.listener(path): ("127.0.0.1", far),
})
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[tuple[tuple[str, int], socket.socket]]:
    """Where to connect to, and the listener that is reached by it."""
    near, far = free_ports(2)
    with (
        socket.create_server(("127.0.0.1", far), backlog=512) as server,
        subprocess.Popen(
            [sys.executable, "-c", RELAY, str(near), str(tmp_path / "s"), str(far)],
            stdout=subprocess.PIPE,
        ) as process,
    ):
        server.settimeout(60)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield ("127.0.0.1", near), server
        process.kill()


def accepted(server: socket.socket) -> socket.socket:
    connection, _ = server.accept()
    connection.settimeout(60)
    return connection


def everything(connection: socket.socket) -> bytes:
    """What the other side sends until it ends."""
    parts = []
    while data := connection.recv(1 << 16):
        parts.append(data)
    return b"".join(parts)


def test_bytes_of_both_directions_arrive_at_the_same_time(
    relay: tuple[tuple[str, int], socket.socket],
) -> None:
    at, server = relay
    made = random.Random(3)
    out, back = made.randbytes(40_000_000), made.randbytes(30_000_001)
    with socket.create_connection(at, 60) as near, accepted(server) as far:
        sending = [
            threading.Thread(target=lambda: (near.sendall(out), near.shutdown(socket.SHUT_WR))),
            threading.Thread(target=lambda: (far.sendall(back), far.shutdown(socket.SHUT_WR))),
        ]
        got: list[bytes] = []
        sending.append(threading.Thread(target=lambda: got.append(everything(far))))
        for thread in sending:
            thread.start()
        assert everything(near) == back
        for thread in sending:
            thread.join(60)
        assert got == [out]


def test_one_direction_may_end_before_the_other(
    relay: tuple[tuple[str, int], socket.socket],
) -> None:
    at, server = relay
    with socket.create_connection(at, 60) as near, accepted(server) as far:
        near.sendall(b"the question")
        near.shutdown(socket.SHUT_WR)
        assert everything(far) == b"the question"
        far.sendall(b"the answer")
        far.close()
        assert everything(near) == b"the answer"


def test_a_reader_that_does_not_read_holds_the_writer_back(
    relay: tuple[tuple[str, int], socket.socket],
) -> None:
    """The bytes wait at the sender, and fill no memory on the way."""
    at, server = relay
    with socket.create_connection(at, 60) as near, accepted(server) as far:
        near.settimeout(2)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 500_000_000:
                sent += near.send(bytes(1 << 20))
        assert sent < 50_000_000
        near.close()
        assert len(everything(far)) == sent


def test_a_broken_connection_ends_on_the_other_side(
    relay: tuple[tuple[str, int], socket.socket],
) -> None:
    """A Unix socket knows no reset, so both directions end; to write there is an error."""
    at, server = relay
    with socket.create_connection(at, 60) as near, accepted(server) as far:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        near.close()
        assert far.recv(1) == b""
        with pytest.raises(OSError, match="Broken pipe|Connection reset"):
            far.sendall(bytes(50_000_000))


def test_where_nothing_listens_the_connection_is_reset(
    relay: tuple[tuple[str, int], socket.socket],
) -> None:
    at, server = relay
    server.close()
    with socket.create_connection(at, 60) as near:
        # The forwarder's far end, over a Unix socket, can only end; it does so at once.
        assert near.recv(1) == b""


def test_a_socket_that_is_missing_resets_the_connection(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    forwarder.start({forwarder.listener(("127.0.0.1", port)): str(tmp_path / "none")})
    with (
        pytest.raises(ConnectionResetError),  # The reset may come before `connect` returns.
        socket.create_connection(("127.0.0.1", port), 60) as near,
    ):
        near.recv(1)


def test_many_connections_at_once(relay: tuple[tuple[str, int], socket.socket]) -> None:
    at, server = relay
    near = [socket.create_connection(at, 60) for _ in range(300)]
    for number, connection in enumerate(near):
        connection.sendall(b"%d\n" % number)
    far = [accepted(server) for _ in near]
    try:
        for connection in far:
            connection.sendall(connection.makefile("rb").readline())
        for number, connection in enumerate(near):
            assert connection.makefile("rb").readline() == b"%d\n" % number
    finally:
        for connection in (*near, *far):
            connection.close()


def test_a_full_queue_of_a_unix_socket_is_waited_for(tmp_path: Path) -> None:
    """The kernel refuses a connection there and then, where a TCP port would keep it waiting."""
    path, (port,) = str(tmp_path / "s"), free_ports(1)
    slow = socket.socket(socket.AF_UNIX)
    slow.bind(path)
    slow.listen(0)
    forwarder.start({forwarder.listener(("127.0.0.1", port)): path})
    near = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(8)]
    for connection in near:
        connection.sendall(b"x")
    far = []
    slow.settimeout(60)
    for _ in near:
        far.append(slow.accept()[0])
        far[-1].settimeout(60)
        assert far[-1].recv(1) == b"x"
    for connection in (*near, *far, slow):
        connection.close()


def test_a_path_that_is_taken_is_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with (
        forwarder.listener(path),
        pytest.raises(OSError, match=os.strerror(errno.EADDRINUSE)),
    ):
        forwarder.listener(path)
