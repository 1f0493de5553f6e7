"""Whatever dies, everybody else ends soon and says the same first cause."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest


def _await_start(tasks) -> None:
    for task in tasks.values():
        task.wait_for("started")
    workers = {name: task for name, task in tasks.items() if name.startswith("worker")}
    for name in workers:  # A death is told with the step that a heartbeat has carried.
        for listener in tasks.values() if name == "worker 0" else [tasks["worker 0"]]:
            if listener is not tasks[name]:
                listener.wait_for(f"heard {name}\n")


@pytest.mark.parametrize("victim", ["worker 0", "worker 1", "worker 2", "ps 0"])
def test_survivors_name_the_task_that_was_killed(gang, victim):
    tasks = gang(3, 1)
    _await_start(tasks)
    tasks[victim].send(signal.SIGKILL)
    began = time.monotonic()
    survivors = [task for name, task in tasks.items() if name != victim]
    assert [task.end() for task in survivors] == [1, 1, 1]
    assert time.monotonic() - began < 15  # Long before a silence would count.
    causes = {task.last_line for task in survivors}
    # Each task knows the chief's step by the heartbeats that it has read itself.
    assert len(causes) == 1 or victim == "worker 0"
    at = r"" if victim == "ps 0" else r" at step [1-9]\d*"
    line = rf"PeerFailureError: {victim} \(127\.0\.0\.1:\d+\) died: connection lost{at}"
    assert all(re.fullmatch(line, cause) for cause in causes), causes


def test_an_error_is_told_to_the_others(gang):
    tasks = gang(3, 1, each={"worker 1": {"fail_at": 5}})
    codes = {name: task.end() for name, task in tasks.items()}
    assert set(codes.values()) == {1}
    assert tasks["worker 1"].last_line == "ValueError: the loss is not a number"
    for name in ("worker 0", "worker 2", "ps 0"):
        assert re.fullmatch(
            r"PeerFailureError: worker 1 \(127\.0\.0\.1:\d+\) failed: "
            r"ValueError: the loss is not a number",
            tasks[name].last_line,
        )


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker 0", "worker 1"])
def test_a_stopped_task_is_a_stall(gang, victim):
    tasks = gang(3, 1, stall_timeout=4)
    _await_start(tasks)
    tasks[victim].send(signal.SIGSTOP)
    survivors = [task for name, task in tasks.items() if name != victim]
    assert [task.end() for task in survivors] == [1, 1, 1]
    at = r" at step [1-9]\d*"
    name = rf"{victim} \(127\.0\.0\.1:\d+\)"
    long = r"(?:[4-9]|\d\d)"  # A busy machine comes to look late.
    for task in survivors:
        assert re.search(
            rf"{name} has sent nothing for \d+ s{at}; the job ends when that lasts 4 s", task.output
        )
        assert re.fullmatch(
            rf"PeerFailureError: {name} has stood still{at} for {long} s", task.last_line
        )
    # When it wakes, it does not wait for those that have gone.
    tasks[victim].send(signal.SIGCONT)
    assert tasks[victim].end() == 1
    told = r"(worker|ps) \d \(127\.0\.0\.1:\d+\) failed: " if victim == "worker 0" else ""
    assert re.fullmatch(
        rf"PeerFailureError: {told}{name} has stood still{at} for {long} s", tasks[victim].last_line
    )


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker 0", "worker 1"])
def test_a_task_that_goes_on_in_time_is_no_failure(gang, victim):
    tasks = gang(2, 1, stall_timeout=9, steps=400)
    _await_start(tasks)
    tasks[victim].send(signal.SIGSTOP)
    other = tasks["worker 1" if victim == "worker 0" else "worker 0"]
    other.wait_for(f"{victim} (")
    tasks[victim].send(signal.SIGCONT)
    assert [task.end() for task in tasks.values()] == [0, 0, 0]
    name = rf"{victim} \(127\.0\.0\.1:\d+\)"
    assert re.search(rf"{name} has sent nothing for [4-8] s", other.output)
    assert re.search(rf"{name} is back after [4-8] s", other.output)


def test_ps_ends_with_the_last_worker(gang):
    tasks = gang(2, 2, each={"worker 0": {"steps": 5}, "worker 1": {"steps": 60}})
    assert [task.end() for task in tasks.values()] == [0, 0, 0, 0]
    ends = {name: float(task.last_line.split()[-1]) for name, task in tasks.items()}
    assert ends["ps 0"] - ends["worker 1"] < 10  # Not when a silence would count.
    # The chief stays for the others: its server and the channel end with it.
    (stepped,) = re.findall(r"^stepped at (.+)$", tasks["worker 1"].output, re.M)
    assert ends["worker 0"] > float(stepped)


@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
def test_the_chief_waits_longer_for_a_worker_that_works_than_for_another(gang, works):
    last = {"steps": 2, "rests": 12, "works": works}
    tasks = gang(2, each={"worker 0": {"steps": 2}, "worker 1": last}, stall_timeout=4)
    assert [task.end() for task in tasks.values()] == ([0, 0] if works else [1, 1])
    said = re.search(
        r"worker 1 \(.+\) has stood still at step 2 for \d+ s", tasks["worker 0"].output
    )
    assert (said is None) == works


def test_a_worker_that_is_finished_may_go(gang):
    tasks = gang(2, 1, each={"worker 0": {"steps": 60}, "worker 1": {"steps": 2}})
    assert [task.end() for task in tasks.values()] == [0, 0, 0]
    assert all("died" not in task.output for task in tasks.values())


def test_nothing_of_openmox_listens_once_the_job_runs(gang):
    tasks = gang(2, 1)
    _await_start(tasks)
    ours = set()
    for task in tasks.values():
        folder = f"/proc/{task.process.pid}/fd"
        links = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
        ours |= {link[8:-1] for link in links if link.startswith("socket:[")}
    with open("/proc/net/tcp") as tcp, open("/proc/net/tcp6") as tcp6:
        lines = [line.split() for line in [*tcp.readlines()[1:], *tcp6.readlines()[1:]]]
    listening = {fields[9] for fields in lines if fields[3] == "0A"}
    assert ours
    assert not ours & listening
