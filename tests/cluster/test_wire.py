from __future__ import annotations

import socket
import threading
import time

import pytest

from moxing.cluster.wire import Link, close_all


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    yield Link(near), Link(far)
    near.close()
    far.close()


def _received(link, count, seconds=10):
    messages, deadline = [], time.monotonic() + seconds
    while len(messages) < count and link.lost is None and time.monotonic() < deadline:
        messages += link.receive()
    return messages


def test_messages_arrive_whole_and_in_order(pair):
    near, far = pair
    sent = [{"kind": "value", "n": n, "text": "é\n" * n} for n in range(50)]
    for message in sent:
        near.send(message)
    assert _received(far, 50) == sent


def test_sending_never_blocks_and_nothing_is_lost(pair):
    near, far = pair
    sent = [{"kind": "value", "text": "x" * 4_000_000} for _ in range(4)]
    for message in sent:
        near.send(message)  # Nobody reads yet.
    assert near.unsent
    closer = threading.Thread(target=close_all, args=([near], 10))
    closer.start()
    assert _received(far, 4) == sent
    far.close()
    closer.join(10)
    assert not closer.is_alive()


def test_last_words_are_read_though_the_sender_left_input_unread(pair):
    near, far = pair
    far.send({"kind": "beat"})
    time.sleep(0.1)
    near.send({"kind": "event", "name": "failed"})
    close_all([near], 0.2)
    assert _received(far, 1) == [{"kind": "event", "name": "failed"}]
    deadline = time.monotonic() + 5
    while far.lost is None and time.monotonic() < deadline:
        far.receive()
    assert far.lost == "connection lost"


@pytest.mark.parametrize("data", [b"PRI * HTTP/2.0\r\n", b"\0\0\0", b'{"a": 1}\n', b"{]\n"])
def test_another_protocol_ends_the_link(pair, data):
    near, far = pair
    near.socket.sendall(data)
    assert _received(far, 1) == []
    assert far.lost == "it speaks another protocol"


def test_a_message_that_is_too_long_ends_the_link(pair):
    near, far = pair
    far.longest = 1000
    near.send({"kind": "value", "text": "x" * 2000})
    assert _received(far, 1) == []
    assert far.foreign


def test_a_machine_that_is_gone_is_noticed_by_the_system(pair):
    near, _ = pair
    get = near.socket.getsockopt
    assert get(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
    idle, interval, count = (
        get(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert get(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert idle + interval * count <= 10
