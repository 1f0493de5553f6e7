"""What `mox doctor --cluster` says of the processes of a job."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import pytest

from moxing.cli import doctor
from moxing.doctor import network
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.launch.ports import free_ports


def looked(**given: Any) -> dict[str, Finding]:
    flags = {"job_name": "worker", "task_index": 0, "ps_hosts": "", "worker_hosts": "", **given}
    environ = flags.pop("environ", {})
    return {finding.what: finding for finding in network.findings(flags, environ)}


def test_no_cluster() -> None:
    assert looked(job_name="")["cluster"].verdict == NOTE


def test_a_peer_that_answers_and_one_that_is_not_there_yet() -> None:
    with socket.socket() as listening, socket.socket() as bound:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        bound.bind(("127.0.0.1", 0))
        there, absent = (f"127.0.0.1:{s.getsockname()[1]}" for s in (listening, bound))
        found = looked(worker_hosts=f"127.0.0.1:4000,{there},{absent}")
    assert found[f"worker 1 ({there})"].verdict == GOOD
    assert found[f"worker 2 ({absent})"].text == (
        "its machine answers, but nothing listens there yet"
    )
    assert found["own address"].verdict == GOOD
    assert found["not compared"].text.startswith("the clocks, versions and lists of hosts")


def test_an_address_of_another_machine() -> None:
    found = looked(worker_hosts="192.0.2.7:4000,127.0.0.1:4001")
    assert found["own address"].text == (
        "192.0.2.7:4000 is not on this machine: check --task_index"
    )


def test_a_proxy_in_the_way() -> None:
    hosts = "127.0.0.1:4000,127.0.0.1:4001"
    found = looked(worker_hosts=hosts, environ={"http_proxy": "http://proxy:3128"})
    assert found["cluster"].verdict == BAD
    assert "no_proxy" in found["cluster"].text


def test_a_form_of_tf_config_that_can_t_be_read() -> None:
    found = looked(job_name="", environ={"TF_CONFIG": "{"})
    assert found["cluster"].verdict == BAD
    assert "TF_CONFIG" in found["cluster"].text


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor.machine, "findings", lambda directory: iter(()))
    task = {"type": "worker", "index": 0}
    config = {"cluster": {"worker": ["192.0.2.7:1", "192.0.2.8:1"]}, "task": task}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setattr(network, "_SECONDS", 0.2)
    assert doctor.main(["--cluster"]) == 1
    assert "BAD   own address: 192.0.2.7:1 is not on this machine" in capsys.readouterr().out


def test_an_evaluator_has_no_address() -> None:
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator", "index": 0}}
    found = looked(job_name="", environ={"TF_CONFIG": json.dumps(config)})
    assert found["own address"].text == "none: nobody talks to an evaluator"
    assert set(found) == {"cluster", "own address"}


def test_what_a_meeting_compares_is_not_said_to_be_left_out() -> None:
    flags = {"job_name": "worker", "task_index": 0, "worker_hosts": "", "ps_hosts": ""}
    hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    found = network.findings({**flags, "worker_hosts": hosts}, {}, meet=0.1)
    assert [finding.what for finding in found][-1] == "exposure"


def test_who_has_this_task_s_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = looked(worker_hosts=f"127.0.0.1:{port},127.0.0.1:4001")["own port"]
    assert found.verdict == NOTE
    assert found.text.startswith(f"process {os.getpid()} (")
    assert found.text.endswith(f" listens on {port}; a new job needs it free")


def test_the_secret_of_the_job() -> None:
    hosts = "127.0.0.1:4000,127.0.0.1:4001"
    text = "a secret that nobody guesses"
    found = looked(worker_hosts=hosts, environ={"MOX_JOB_SECRET": text})
    assert found["secret"].verdict == GOOD
    assert not any(text in finding.text for finding in found.values())
    assert looked(worker_hosts=hosts)["secret"].verdict == NOTE
    found = looked(worker_hosts=hosts, environ={"MOX_JOB_SECRET": "short"})
    assert (found["cluster"].verdict, "16 to 1024" in found["cluster"].text) == (BAD, True)
