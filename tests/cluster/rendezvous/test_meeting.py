"""All start together or not at all, and everybody says why not."""

from __future__ import annotations

import json
import queue
import re
import signal
import socket
import threading
import time

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.watch import Watch
from moxing.cluster.rendezvous.dial import dial
from moxing.cluster.rendezvous.handshake import hello


def _dial(address: str, seconds: float = 60) -> socket.socket:
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=5)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _await_arrival(addresses, index, other):
    """Returns when the chief tells who waits in `other`'s name that worker `index` is there."""
    greeting = hello(Cluster(tuple(addresses), index=other), {})
    with _dial(addresses[0]) as watcher:
        watcher.sendall(json.dumps(greeting).encode() + b"\n")
        for line in watcher.makefile():
            missing = json.loads(line)["missing"]
            if not any(task.startswith(f"worker {index} ") for task in missing):
                return
    raise AssertionError("the chief has gone")


def _lists(addresses, ps=0):
    split = len(addresses) - ps
    return {"workers": addresses[:split], "ps": addresses[split:]}


def test_a_missing_task_is_named_by_those_who_came(ports, start):
    addresses = ports(3)
    lists = _lists(addresses, ps=1)
    ps = start(**lists, job="ps", index=0)
    _dial(addresses[2]).close()  # It is there, and tries to reach the chief.
    chief = start(**lists, job="worker", index=0, timeout=3)
    assert [chief.end(), ps.end()] == [1, 1]
    expected = (
        rf"MissingPeerError: Gave up after [3-9] s: no sign of worker 1 \({addresses[1]}\)\. Check "
        r"that each of them was started, with these addresses, and that it can reach this one\."
    )
    assert re.fullmatch(expected, chief.last_line)
    assert ps.last_line == chief.last_line


def test_the_chief_decides_for_those_who_came_earlier(ports, start):
    addresses = ports(3)
    early = start(**_lists(addresses), job="worker", index=1, timeout=5)
    _dial(addresses[1]).close()  # So the time of the chief ends later than its own.
    chief = start(**_lists(addresses), job="worker", index=0, timeout=5)
    assert [chief.end(), early.end()] == [1, 1]
    assert chief.last_line == early.last_line
    told = f"no sign of worker 2 ({addresses[2]}). Check"
    assert re.fullmatch(f"MissingPeerError: Gave up .* {re.escape(told)}.*", chief.last_line)


def test_a_missing_chief_is_named(ports, start):
    addresses = ports(2)
    worker = start(**_lists(addresses), job="worker", index=1, timeout=1)
    assert worker.end() == 1
    assert re.fullmatch(
        rf"MissingPeerError: Gave up after [1-9] s: no sign of worker 0, the chief "
        rf"\({addresses[0]}\): connection refused\. Check that each of them was started, with "
        r"these addresses\.",
        worker.last_line,
    )


@pytest.mark.slow
def test_waiting_says_every_ten_seconds_for_whom(ports, start):
    addresses = ports(3)
    worker = start(**_lists(addresses), job="worker", index=2)
    _dial(addresses[2]).close()
    chief = start(**_lists(addresses), job="worker", index=0, timeout=13)
    assert [chief.end(), worker.end()] == [1, 1]
    line = rf"Waiting for worker 1 \({addresses[1]}\); \d+ s left"
    assert len(re.findall(line, chief.output)) == 1
    assert len(re.findall(line, worker.output)) == 1


def test_a_different_digest_is_refused_with_both_values(gang):
    tasks = gang(
        3,
        digest={"the flag --batch_size": "32"},
        each={"worker 2": {"digest": {"the flag --batch_size": "64"}}},
    )
    assert [task.end() for task in tasks.values()] == [1, 1, 1]
    for task in tasks.values():
        assert re.fullmatch(
            r"MoxRuntimeError: worker 2 \(127\.0\.0\.1:\d+\) differs from the chief: the flag "
            r"--batch_size is 32 in worker 0 and 64 in worker 2\. "
            r"All tasks must be started alike\.",
            task.last_line,
        )
        assert "started" not in task.output.splitlines()


def test_a_different_list_is_refused(ports, start):
    addresses = ports(3)
    chief = start(**_lists(addresses[:2]), job="worker", index=0)
    other = start(**_lists([addresses[0], addresses[2]]), job="worker", index=1)
    assert [chief.end(), other.end()] == [1, 1]
    assert chief.last_line == other.last_line
    assert (
        f"the list of workers is {addresses[0]},{addresses[1]} in worker 0 and "
        f"{addresses[0]},{addresses[2]} in worker 1" in chief.last_line
    )


def test_a_port_that_is_taken_is_refused_with_its_holder(ports, start):
    addresses = ports(2)
    first = start(**_lists(addresses), job="worker", index=0)
    _dial(addresses[0]).close()
    second = start(**_lists(addresses), job="worker", index=0)
    assert second.end() == 1
    assert second.last_line.startswith(
        f"MoxRuntimeError: worker 0 ({addresses[0]}): port {addresses[0].split(':')[1]} of this"
        f" machine ({socket.gethostname()}) is taken by process {first.process.pid} ("
    )
    assert second.last_line.endswith(
        "Stop that program (it may be left from an earlier run, or be a second process with the"
        " same task index), or list another port."
    )


def test_an_address_of_another_machine_is_refused(ports, start):
    here = ports(1)[0]
    # A block of addresses for documentation (RFC 5737): of no machine.
    task = start(workers=[here, "192.0.2.7:4000"], ps=[], job="worker", index=1)
    assert task.end() == 1
    assert re.fullmatch(
        r"MoxRuntimeError: This process is to be worker 1 \(192\.0\.2\.7:4000\), by flags, but "
        r"192\.0\.2\.7 is not an address of this machine \(.+\)\. The addresses of the list that "
        rf"are: worker 0 \({here}\)\. Check the task index\.",
        task.last_line,
    )


def _greeting(task: str, **changed) -> bytes:
    facts = {"openmox": "0"}
    whole = {"kind": "hello", "protocol": 1, "task": task, "address": "a:1", "process": "process 7"}
    return json.dumps({**whole, "facts": facts, **changed}).encode() + b"\n"


def test_strangers_are_dropped_and_harm_nothing(ports, start):
    addresses = ports(2)
    chief = start(**_lists(addresses), job="worker", index=0, steps=3)
    nonsense = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00",
        b"\x00" * 200_000,
        b"{" * 200_000,
        b"{" * 60_000 + b"\n",
        b"[]\n{}\n",
        b'{"kind": 3}\n',
        b'{"kind": "beat", "step": 4}\n',
        b'{"kind": "hello", "task": []}\n',
        _greeting("worker 1", facts={"x": 1}),
        _greeting("worker 1", facts=None),
        b"",
    ]
    for data in nonsense:
        with _dial(addresses[0]) as stranger:
            stranger.settimeout(0.5)
            try:
                stranger.sendall(data)
                stranger.recv(100)
            except (TimeoutError, ConnectionError):
                pass
    worker = start(**_lists(addresses), job="worker", index=1, steps=3)
    assert [chief.end(), worker.end()] == [0, 0]


def test_two_processes_with_one_identity_are_refused(ports, start):
    addresses = ports(4)
    chief = start(**_lists(addresses), job="worker", index=0)
    worker = start(**_lists(addresses), job="worker", index=1)
    _await_arrival(addresses, 1, other=2)
    with _dial(addresses[0]) as twin:
        twin.sendall(_greeting("worker 1"))
        assert [chief.end(), worker.end()] == [1, 1]
        told = json.loads(twin.makefile().readline())
    assert re.fullmatch(
        r"Two processes say that they are worker 1: process \d+ on .+ and process 7\. Give each "
        r"its own task index\.",
        told["reason"],
    )
    assert chief.last_line == worker.last_line == f"MoxRuntimeError: {told['reason']}"


def test_a_task_that_restarts_while_others_still_wait_is_taken(ports, start):
    addresses = ports(4)
    chief = start(**_lists(addresses), job="worker", index=0, steps=3)
    first = start(**_lists(addresses), job="worker", index=1, steps=3)
    _await_arrival(addresses, 1, other=2)
    first.send(signal.SIGKILL)
    chief.wait_for(f"worker 1 ({addresses[1]}) has gone again before the start")
    rest = [start(**_lists(addresses), job="worker", index=i, steps=3) for i in (1, 2, 3)]
    assert [task.end() for task in (chief, *rest)] == [0, 0, 0, 0]


def test_a_task_that_comes_to_a_running_job_is_refused(ports, start):
    addresses = ports(2)
    # TensorFlow's server speaks HTTP/2: first of all it sends its settings.
    host, port = addresses[0].split(":")
    with socket.create_server((host, int(port))) as server:
        late = start(**_lists(addresses), job="worker", index=1, timeout=30)
        server.settimeout(0.2)
        kept = []
        while late.process.poll() is None:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.sendall(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00")
            kept.append(connection)
        for connection in kept:
            connection.close()
    assert late.end() == 1
    assert late.last_line == (
        f"MissingPeerError: A server already answers in place of worker 0, the chief "
        f"({addresses[0]}): the job is running, and a task can't join it late or again. Stop all "
        "of its tasks and start them together; they go on from the last checkpoint. If no such "
        "job runs, another program has this port."
    )


def _nothing(*_: object) -> None:
    pass


def test_what_comes_with_the_start_signal_is_not_lost():
    """Under load a worker reads the signal and the chief's first values at once."""
    heard: queue.Queue = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as server:
        chief = f"127.0.0.1:{server.getsockname()[1]}"
        cluster = Cluster((chief, "127.0.0.1:1"), index=1)

        def greet() -> None:
            connection, _ = server.accept()
            connection.recv(1 << 16)
            connection.sendall(
                b'{"kind":"start","job":"x"}\n{"kind":"value","key":"k#1","value":3}\n'
            )
            heard.put(connection)

        threading.Thread(target=greet, daemon=True).start()
        link, job = dial(cluster, {"kind": "hello"}, time.monotonic() + 10)
        connection = heard.get(timeout=10)
        watch = Watch({"worker 0": link}, lambda *what: heard.put(what), _nothing, _nothing)
        watch.start()
        try:
            found = heard.get(timeout=10)
        finally:
            watch.end()
            link.close()
            connection.close()
    assert job == "x"
    assert found == ("worker 0", {"kind": "value", "key": "k#1", "value": 3})
