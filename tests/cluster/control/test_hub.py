"""The chief's work for all tasks grows with their number, and not faster."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from moxing.cluster import wire
from moxing.cluster.cluster import Cluster
from moxing.cluster.control.hub import Hub


def hub_of(count: int, links: dict[str, wire.Link] | None = None) -> tuple[Hub, list[Any]]:
    """The state of a job's chief, and the messages that come to the chief itself."""
    told: list[Any] = []
    workers = tuple(f"10.0.{i // 250}.{i % 250}:2222" for i in range(count))
    return Hub(Cluster(workers, index=0), links or {}, told.append, 60.0, lambda: None), told


def test_the_end_of_thirty_thousand_workers_is_no_work_for_the_square_of_them() -> None:
    hub, told = hub_of(30_000)
    began = time.process_time()
    for index in range(30_000):
        assert [message["name"] for message in told][1:] == []  # Before the last worker.
        hub.handle(f"worker {index}", {"kind": "event", "name": "finished"})
    assert [message["name"] for message in told] == ["finished", "all_finished"]
    assert time.process_time() - began < 10  # It is half a second; the square takes a minute.


def test_a_message_to_all_is_put_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [socket.socketpair() for _ in range(40)]
    links = {f"worker {i}": wire.Link(pair[0]) for i, pair in enumerate(pairs, 1)}
    hub, told = hub_of(41, links)
    made: list[Any] = []
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda *a, **k: made.append(a) or dumps(*a, **k))
    hub.handle("worker 7", {"kind": "event", "name": "stop", "details": {"of": "7"}})
    assert len(made) == 1
    for _, other in pairs:
        assert wire.Link(other).receive() == told
    for pair in pairs:
        pair[0].close(), pair[1].close()
