"""Processes of every dialect train together on two machines, whose home folders are their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machines import Host

PROGRAMS = Path(__file__).parent / "programs"
PORT = 2317
LIMIT = 200


def trained(
    program: str, hosts: tuple[Host, Host], home: Path, roles: tuple[str, str], *command: str
) -> list[str]:
    """What each machine's process of a program prints, both ended by themselves."""
    home.mkdir()
    hosts[1].run("mount", "-t", "tmpfs", "none", str(home))
    addresses = [f"{host.address}:{PORT}" for host in hosts]
    listed: dict[str, list[str]] = {}
    for role, address in zip(roles, addresses, strict=True):
        listed.setdefault(role, []).append(address)
    tasks = []
    try:
        for host, role, address in zip(hosts, roles, addresses, strict=True):
            task = {"type": role, "index": listed[role].index(address)}
            config = json.dumps({"cluster": listed, "task": task})
            more = {} if program == "flow_job.py" else {"TF_CONFIG": config}
            words = [*command, str(PROGRAMS / program), str(home), ",".join(addresses)]
            tasks.append(
                subprocess.Popen(
                    host.inside(sys.executable, *words),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    env={**os.environ, **more},
                )
            )
        said = [task.communicate(timeout=LIMIT)[0] for task in tasks]
    finally:
        for task in tasks:
            task.kill()
        hosts[1].run("umount", str(home))
    print("\n".join(said))
    assert [task.returncode for task in tasks] == [0, 0], said
    return said


def learned(said: str) -> float:
    """The slope of the line as a program printed it."""
    [line] = [line for line in said.splitlines() if line.startswith("learned ")]
    return float(line.removeprefix("learned "))


@pytest.mark.parametrize(
    ("program", "command"),
    [("keras_fit.py", ()), ("run.py", ("-m", "moxing", "run"))],
)
def test_both_machines_learn_one_line(
    program: str, command: tuple[str, ...], hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    said = trained(program, hosts, tmp_path / "home", ("worker", "worker"), *command)
    slopes = [learned(text) for text in said]
    assert slopes[0] == slopes[1] == pytest.approx(3.0, abs=0.05)


@pytest.mark.parametrize(
    ("program", "command"),
    [("estimator.py", ("-m", "moxing", "run")), ("flow_job.py", ())],
)
def test_the_first_machine_tells_the_result(
    program: str, command: tuple[str, ...], hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    """It alone saves and evaluates, so the other one needs none of its files."""
    said = trained(program, hosts, tmp_path / "home", ("chief", "worker"), *command)
    assert learned(said[0]) == pytest.approx(3.0, abs=0.05)
    assert "learned" not in said[1]
