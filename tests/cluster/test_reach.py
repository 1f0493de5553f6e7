"""Workers that all have met, and may not reach each other."""

from __future__ import annotations

import socket

import pytest

from moxing.cluster import reach
from moxing.cluster.cluster import Cluster
from moxing.errors import MoxRuntimeError
from moxing.launch.ports import free_ports


def test_a_worker_that_nothing_answers_for_is_named() -> None:
    free = f"127.0.0.1:{free_ports(1)[0]}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        # Itself it need not reach, and the other one answers.
        reach.check(Cluster((there, free), index=1, source="TF_CONFIG"))
        with pytest.raises(MoxRuntimeError) as caught:
            reach.check(Cluster((there, free, there), index=0, source="TF_CONFIG"))
    assert str(caught.value) == (
        f"worker 0 can't reach worker 1 ({free}): connection refused. All machines must reach each"
        " other, under these addresses. Correct the address in TF_CONFIG, the name service, or the"
        " firewall."
    )


def test_a_name_without_an_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(MoxRuntimeError) as caught:
        reach.check(Cluster(("a:1", "b:2"), index=0, source="flow.config.machine"))
    assert str(caught.value).startswith(
        "worker 0 can't reach worker 1 (b:2): name or service not known. "
    )
