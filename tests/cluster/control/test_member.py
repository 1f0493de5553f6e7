"""What members tell each other; all tasks of a job are threads here."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.failure import MissingPeerError, PeerFailureError
from moxing.errors import MoxTypeError, MoxValueError


@pytest.fixture
def crew(ports):
    """Runs `body(member)` in every task, and gives the results, or errors, in their order."""

    def run(body, workers=3, ps=0):
        addresses = ports(workers + ps)
        split = (tuple(addresses[:workers]), tuple(addresses[workers:]))
        tasks = [("worker", i) for i in range(workers)] + [("ps", i) for i in range(ps)]

        def task(place):
            try:
                cluster = Cluster(*split, *place)
                with join(cluster, digest={}, timeout=120, stall_timeout=120) as member:
                    return body(member)
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(tasks)) as pool:
            return list(pool.map(task, tasks))

    return run


def test_all_gather_keeps_the_order_of_the_workers(crew):
    def body(member):
        return [
            member.all_gather("rates", {"rate": member.cluster.index * step}, 10)
            for step in range(3)
        ]

    expected = [[{"rate": index * step} for index in range(3)] for step in range(3)]
    assert crew(body) == [expected] * 3


def test_broadcast_gives_the_value_of_the_chief(crew):
    def body(member):
        member.barrier("before", 10)
        return [member.broadcast("start", [member.cluster.index, n], 10) for n in range(3)]

    assert crew(body) == [[[0, 0], [0, 1], [0, 2]]] * 3


def test_the_start_warns_of_the_port_of_tensorflow(crew, caplog):
    def body(member):
        return member.cluster.address.rpartition(":")[2]

    with caplog.at_level("INFO", logger="tensorflow"):
        for port in crew(body, workers=2):
            assert (
                f"TensorFlow's server listens on port {port} of all network interfaces, and whoever"
                " reaches it can read and write files: keep this port on a private network"
                in caplog.messages
            )


def test_large_values_pass(crew):
    text = "x" * 3_000_000
    got = crew(lambda member: member.all_gather("large", text, 20), workers=2)
    assert got == [[text, text]] * 2


def test_all_gather_names_who_did_not_come(crew):
    told = {0: threading.Event(), 2: threading.Event()}

    def body(member):
        member.barrier("start", 10)
        if member.cluster.index == 1:
            assert all(event.wait(60) for event in told.values())
            return None
        try:
            member.all_gather("weights", 1, 1.0)
        except MissingPeerError as error:
            absent = f"worker 1 ({member.cluster.workers[1]})"
            return str(error), absent, error.exit_code
        finally:
            told[member.cluster.index].set()

    for index, result in enumerate(crew(body)):
        if index != 1:
            message, absent, code = result
            assert code == 143
            waited = r"Waited [1-4] s for 'weights', and these did not come: "
            assert re.fullmatch(waited + re.escape(absent), message)


def test_everybody_keeps_the_same_first_event(crew):
    def body(member):
        member.barrier("start", 10)
        member.announce("input_ended", step=member.cluster.index)
        member.barrier("announced", 10)
        return dict(member.wait("input_ended", 5) or {})

    first, *others = crew(body, workers=4)
    assert first == {"step": int(first["task"].split()[1]), "task": first["task"]}
    assert others == [first] * 3


def test_an_event_that_nobody_announced_is_none(crew):
    def body(member):
        return member.event("stop_requested"), member.wait("stop_requested", 0.05)

    assert crew(body, workers=2) == [(None, None)] * 2


def test_a_failure_calls_back_the_others_and_ends_their_waits(crew):
    calls, addresses = {}, []

    def body(member):
        index = member.cluster.index
        if index == 1:
            addresses.append(member.cluster.address)
        seen = threading.Event()
        member.on_failure(lambda reason: (calls.setdefault(index, []).append(reason), seen.set()))
        member.report_step(7)
        member.barrier("start", 10)
        if index == 1:
            raise MoxValueError("the shape is wrong")
        try:
            member.barrier("never", 20)
        finally:
            seen.wait(60)

    results = crew(body)
    reason = f"worker 1 ({addresses[0]}) failed: the shape is wrong"
    assert isinstance(results[1], MoxValueError)
    for index in (0, 2):
        assert isinstance(results[index], PeerFailureError)
        (called,) = calls[index]
        assert str(results[index]) == f"{called}. So there is no 'barrier never' to be had."
        assert called == reason
    assert 1 not in calls


def test_a_failure_that_is_known_calls_back_at_once(crew):
    def body(member):
        if member.cluster.index == 1:
            member.fail("no space left")
            return None
        called = threading.Event()
        assert member.wait_failure(10) == (
            f"worker 1 ({member.cluster.workers[1]}) failed: no space left"
        )
        member.on_failure(lambda reason: called.set())
        return called.wait(60)

    results = crew(body, workers=2)
    assert results[1] is None
    # The chief returned normally, but its job has failed.
    assert isinstance(results[0], PeerFailureError)


def test_a_chief_that_failed_tells_why_before_it_goes(crew):
    def body(member):
        if member.cluster.is_chief:
            member.fail("no space left")
            return None
        return member.wait_failure(10)

    results = crew(body)
    assert results[0] is None
    assert results[1] == results[2]
    assert str(results[1]).endswith(") failed: no space left")


def test_ps_waits_for_workers_and_takes_no_part_in_gathering(crew):
    def body(member):
        if member.cluster.job == "ps":
            member.wait_for_workers()
            return "ended"
        return member.all_gather("x", member.cluster.index, 10)

    assert crew(body, workers=2, ps=2) == [[0, 1], [0, 1], "ended", "ended"]


def test_what_is_no_json_is_refused(crew):
    def body(member):
        with pytest.raises(MoxTypeError, match=r"^Only JSON values can be sent to other tasks: "):
            member.all_gather("x", object(), 1)
        return True

    assert crew(body, workers=2) == [True, True]


def test_one_process_opens_no_socket(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr("socket.socket", refuse)
    before = set(threading.enumerate())
    with join(Cluster(("127.0.0.1:1",)), digest={}, timeout=1, stall_timeout=1) as member:
        assert set(threading.enumerate()) <= before
        assert member.all_gather("x", 5, 1) == [5]
        assert member.broadcast("y", 6, 1) == 6
        member.barrier("z", 1)
        member.announce("stop_requested", signal=15)
        assert member.event("stop_requested") == {"task": "worker 0", "signal": 15}
        assert member.first_failure() is None


def test_an_evaluator_does_not_join():
    cluster = Cluster(("127.0.0.1:1",), job="evaluator")
    with (
        pytest.raises(MoxValueError) as caught,
        join(cluster, digest={}, timeout=1, stall_timeout=1),
    ):
        pass
    assert str(caught.value) == (
        "evaluator 0 can't join the job's tasks: an evaluator reads checkpoints only."
    )
