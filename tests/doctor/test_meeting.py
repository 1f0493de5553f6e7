"""Doctors of a cluster that ask each other."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import handshake
from moxing.cluster.rendezvous.meeting import meet
from moxing.cluster.secret import Secret
from moxing.doctor import meeting
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.launch.ports import free_ports

# A doctor of a worker in a process of its own, whose clock and versions may be others.
DOCTOR = """
import sys, time
from moxing.cluster.rendezvous import handshake
from moxing.cluster.cluster import Cluster
from moxing.doctor import meeting
shift, version = float(sys.argv[3]), sys.argv[4]
real = time.time
meeting.time.time = lambda: real() + shift
handshake.__version__ = version or handshake.__version__
for finding in meeting.findings(Cluster(tuple(sys.argv[1].split(",")), index=int(sys.argv[2])), 60):
    print(finding)
"""


def hosts(count: int) -> tuple[str, ...]:
    return tuple(f"127.0.0.1:{port}" for port in free_ports(count))


def doctors(shift: float = 0.0, version: str = "") -> tuple[dict[str, Finding], str, str]:
    """What worker 0 finds; what another process finds as worker 1; the address of that."""
    workers = hosts(2)
    command = [sys.executable, "-c", DOCTOR, ",".join(workers), "1", str(shift), version]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = {one.what: one for one in meeting.findings(Cluster(workers), 60)}
    output, _ = other.communicate(timeout=90)
    return found, output, workers[1]


def test_two_that_agree() -> None:
    began = time.monotonic()
    found, output, address = doctors()
    finding = found[f"worker 1 ({address})"]
    assert finding.verdict == GOOD
    # A question takes no time but on a machine that is busy.
    assert re.match(r"answers; its clock is 0\.[0-4]\d s (ahead of|behind) this one", finding.text)
    assert output.startswith("ok    worker 0 (127.0.0.1:")
    assert time.monotonic() - began < 45  # Not until the limit.


def test_a_clock_that_is_wrong() -> None:
    found, output, address = doctors(shift=-90.0)
    finding = found[f"worker 1 ({address})"]
    assert finding.verdict == NOTE
    assert finding.text.startswith(("answers; its clock is 90.", "answers; its clock is 89."))
    assert finding.text.endswith("behind this one: log lines will not line up. Set up NTP")
    assert " s ahead of this one" in output


def test_another_version() -> None:
    found, output, address = doctors(version="9.9")
    what = f"worker 1 ({address})"
    text = (
        f"answers, but: {what} differs from the chief: openmox is {handshake.__version__} in"
        " worker 0 and 9.9 in worker 1. All tasks must be started alike."
    )
    assert found == {what: Finding(BAD, what, text)}
    assert text in output


def test_nobody_is_there_and_the_port_is_taken() -> None:
    workers = hosts(2)
    (finding,) = meeting.findings(Cluster(workers), 0.5)
    assert finding == Finding(
        BAD,
        f"worker 1 ({workers[1]})",
        "no doctor answered in 0.5 s: run mox doctor --cluster --meet=0.5 there at the same time,"
        " and look at firewalls",
    )
    host, port = workers[0].split(":")
    with socket.create_server((host, int(port))):
        (finding,) = meeting.findings(Cluster(workers), 0.5)
    assert (finding.verdict, finding.what) == (BAD, "own port")
    assert f"port {port} of this machine ({socket.gethostname()}) is taken by" in finding.text


@pytest.mark.parametrize("answer", [b"", b"\n", b"[1]\n", b'{"kind": "doctor"}\n', b"x" * 100000])
def test_nonsense_from_a_port_is_no_doctor(answer: bytes) -> None:
    """Nor does the other side, which may be a job that waits, take the question for a task's."""
    asked: list[dict[str, Any]] = []

    def serve() -> None:
        link, _ = server.accept()
        with link:
            asked.append(json.loads(link.recv(65536)))
            link.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        mine = {**handshake.hello(Cluster((address, address)), {}), "kind": meeting._KIND}
        assert meeting._ask(address, mine) is None
        thread.join(10)
    assert not handshake.is_hello(asked[0])
    assert meeting._is_doctor(asked[0])


ONE, OTHER = Secret(b"a secret of sixteen or more"), Secret(b"another secret of sixteen")


@pytest.mark.parametrize(
    ("mine", "theirs", "text"),
    [
        (ONE, ONE, r"answers; its clock is \d+\.\d\d s .*"),
        (ONE, OTHER, "answers, but its secret of the job is not the secret that this task has"),
        (ONE, None, "answers, but it has no secret of the job, and this task has one"),
        (None, ONE, "answers, but it has a secret of the job, and this task has none"),
    ],
)
def test_secrets_are_compared_and_not_told(
    mine: Secret | None, theirs: Secret | None, text: str
) -> None:
    workers = hosts(2)
    there: list[Finding] = []
    other = Cluster(workers, index=1, secret=theirs)
    thread = threading.Thread(target=lambda: there.extend(meeting.findings(other, 20)))
    thread.start()
    (here,) = meeting.findings(Cluster(workers, secret=mine), 20)
    thread.join(30)
    assert re.fullmatch(text, here.text)
    assert here.verdict == (GOOD if mine == theirs else BAD)
    assert [one.verdict for one in there] == [here.verdict]
    assert not any("sixteen" in one.text for one in [here, *there])


@pytest.mark.parametrize("secret", [ONE, None])
def test_a_job_that_waits_is_found_by_who_has_no_secret(secret: Secret | None) -> None:
    workers = hosts(2)
    job = [
        threading.Thread(
            target=lambda i=i: [
                link.close()
                for link in meet(Cluster(workers, index=i, secret=secret), {}, 20).values()
            ]
        )
        for i in (0, 1)
    ]
    job[0].start()
    (finding,) = meeting.findings(Cluster(workers, index=1), 1.5)
    assert finding == Finding(
        NOTE,
        f"worker 0 ({workers[0]})",
        "no doctor answered, but: 'a job waits for its tasks at this port'",
    )
    job[1].start()  # It was not disturbed.
    for thread in job:
        thread.join(20)
        assert not thread.is_alive()
