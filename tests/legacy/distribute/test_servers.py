"""Servers of a coordinator's tasks end when the coordinator has ended."""

from __future__ import annotations

import logging
import socket
import threading
import time

import pytest
import tensorflow as tf

from moxing.cluster.failure import MissingPeerError
from moxing.legacy.distribute import servers
from moxing.logs import TENSORFLOW


def _listen() -> tuple[socket.socket, str]:
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_PAUSE", 0.02)


def test_a_server_waits_as_long_as_the_coordinator_runs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TENSORFLOW, "propagate", True)
    listener, address = _listen()
    threading.Timer(0.4, listener.close).start()
    begun = time.monotonic()

    with caplog.at_level(logging.INFO, logger="tensorflow"):
        servers.watch(address, "worker 0", first=5.0)

    assert time.monotonic() - begun >= 0.4
    assert f"The coordinator, chief 0 ({address}), has ended; so does worker 0." in caplog.text


def test_a_server_waits_for_a_coordinator_that_starts_later() -> None:
    listener, address = _listen()
    listener.close()
    late = threading.Timer(0.3, lambda: _hold(address, 0.3))
    late.start()

    servers.watch(address, "ps 0", first=20.0)

    late.join()


def _hold(address: str, seconds: float) -> None:
    host, port = address.split(":")
    with socket.create_server((host, int(port))):
        time.sleep(seconds)


def test_a_coordinator_that_never_starts_is_named() -> None:
    listener, address = _listen()
    listener.close()

    with pytest.raises(
        MissingPeerError, match=r"ps 1 has waited 0\.1 s for the coordinator, chief"
    ):
        servers.watch(address, "ps 1", first=0.1)


def test_a_machine_that_is_silent_for_long_counts_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True, None, True, None])
    monkeypatch.setattr(servers, "_answers", lambda address: next(answers, None))
    begun = time.monotonic()

    servers.watch("192.0.2.1:2222", "ps 0", silent=0.3)

    assert time.monotonic() - begun >= 0.3


def test_join_ends_the_process_behind_the_coordinator() -> None:
    listener, address = _listen()
    cluster = {"chief": [address], "ps": ["127.0.0.1:0"]}
    server = servers.Server(cluster, job_name="ps", task_index=0)
    assert isinstance(server, tf.distribute.Server)
    threading.Timer(0.2, listener.close).start()

    with pytest.raises(SystemExit) as end:
        server.join()

    assert not end.value.code
