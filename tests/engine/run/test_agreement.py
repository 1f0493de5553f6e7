"""Workers wait for what the chief begins with as long as it lives, and no longer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.failure import PeerFailureError
from moxing.engine.job.placement import ProcessGroup
from moxing.engine.process import team
from moxing.engine.process.team import Team
from moxing.launch.ports import free_ports

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import messages  # noqa: E402

SECONDS = 0.2  # To wait for processes at the start.


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a worker has said for what it waits."""
    event = threading.Event()
    say = team.TENSORFLOW.info

    def info(text: str, *rest: Any) -> None:
        say(text, *rest)
        if text.startswith("Waiting for worker 0"):
            event.set()

    monkeypatch.setattr(team.TENSORFLOW, "info", info)
    monkeypatch.setattr(team, "_PATIENCE", 3 * SECONDS)
    # The tasks are threads of this process, and of a process one task can have a server.
    monkeypatch.setattr(team, "start_server", lambda *_, **__: SimpleNamespace(target=""))
    return event


def run(chief: Callable[[Team], Any]) -> Any:
    """What a worker makes of a chief that does this."""
    hosts = tuple(f"127.0.0.1:{port}" for port in free_ports(2))

    def task(index: int) -> Any:
        cluster = Cluster(hosts, index=index)
        group = ProcessGroup(cluster, start_timeout=SECONDS)
        with join(cluster, digest={}, timeout=60, stall_timeout=30) as member, ExitStack() as stack:
            crew = Team(member, group, stack)
            crew.escape.at_ease()
            return chief(crew) if index == 0 else crew.agree(None)

    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(task, index) for index in range(2)]
        assert isinstance(tasks[0].exception(60), OSError | None)
        return tasks[1].exception(60) or tasks[1].result()


def test_a_chief_may_take_longer_than_the_start(told: threading.Event, log: Any) -> None:
    def begin(crew: Team) -> None:
        assert told.wait(60)
        crew.agree({"step": 7})

    assert run(begin) == {"step": 7}
    assert messages(log)[-1] == "Waiting for worker 0 to begin."


def test_a_chief_that_fails_ends_the_wait(told: threading.Event) -> None:
    def begin(crew: Team) -> None:
        assert told.wait(60)
        raise OSError("the store can't be read")

    error = run(begin)
    assert isinstance(error, PeerFailureError)
    assert " failed: OSError: the store can't be read. So there is no " in str(error)
