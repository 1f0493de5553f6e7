"""`mox launch --hosts --ssh --private` between two machines with real sshd, seen from a third one.

The third machine is the one that the tests and the launcher run on: it is on the same network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from machines import Host, answering, until

from moxing.launch.guard import GRACE_SECONDS

LAUNCH = [sys.executable, "-m", "moxing", "launch", "--hosts=n1,n2", "--ssh"]
PORT = 2431
TRAIN = (Path(__file__).parent / "programs/endless.py").read_text()


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders for sockets of both machines and of this one, which share /tmp; none at the end.

    sshd passes no TMPDIR on, so the folders are told apart by what was there before.
    """
    before = set(Path("/tmp").glob("mox-room-*"))
    monkeypatch.delenv("TMPDIR", raising=False)
    yield [*before]
    until(lambda: set(Path("/tmp").glob("mox-room-*")) <= before, "the folders to go", 120)


class Job:
    """A launched job, and what it has printed."""

    def __init__(self, folder: Path, *flags: str) -> None:
        (folder / "train.py").write_text(TRAIN)
        self.path = folder / "said"
        with self.path.open("w") as file:
            self.process = subprocess.Popen(
                [*LAUNCH, f"--port={PORT}", f"--logs={folder}/logs", *flags, "train.py", "log"],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )

    @property
    def said(self) -> str:
        return self.path.read_text()

    def wait_for(self, text: str, times: int = 1, seconds: float = 180) -> None:
        def there() -> bool:
            assert self.process.poll() is None, self.said
            return self.said.count(text) >= times

        until(there, text, seconds)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(100)


@contextmanager
def training(folder: Path, *flags: str) -> Iterator[Job]:
    """A job of two workers that has begun to train."""
    job = Job(folder, *flags)
    try:
        job.wait_for("step: 200(", 2)
        yield job
    finally:
        job.process.kill()
        job.process.wait()
        print(job.said)


def listening(host: Host) -> set[str]:
    """Where programs listen on a machine, on loopback and on all other interfaces."""
    lines = host.run("cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()
    return {fields[1] for fields in map(str.split, lines) if fields[3] == "0A"}


def processes() -> list[str]:
    """The command lines of tasks, and of what carries their connections."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "moxing.launch" in words or "mox-room-" in words or "train.py" in words:
            found.append(words)
    return found


def namespaces() -> set[str]:
    """The networks that processes of this machine are in."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add(os.readlink(process / "ns/net"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("hidden", [True, False])
def test_what_a_third_machine_reaches(
    hidden: bool, tmp_path: Path, hosts: tuple[Host, Host], rooms: list[Path]
) -> None:
    open_before = [answering(host) for host in hosts]
    listening_before, networks_before = [listening(host) for host in hosts], namespaces()
    with training(tmp_path, *(["--private"] if hidden else [])) as job:
        more = [answering(host) - was for host, was in zip(hosts, open_before, strict=True)]
        assert more == ([set(), set()] if hidden else [{PORT}, {PORT}])
        within = [listening(host) - was for host, was in zip(hosts, listening_before, strict=True)]
        assert within == [set(), set()] if hidden else all(within)
        assert len(namespaces() - networks_before) == (2 if hidden else 0)
        # Ctrl-C: the last step is saved, with both workers.
        assert job.end(signal.SIGINT) == 130, job.said
    assert list((tmp_path / "log").glob("model.ckpt-*.index")), job.said
    until(lambda: not processes(), "the processes to go")
    assert namespaces() == networks_before
    assert set(Path("/tmp").glob("mox-room-*")) == set(rooms)


def test_a_machine_that_is_cut_off_is_named_and_the_job_goes_on_later(
    tmp_path: Path, hosts: tuple[Host, Host], rooms: list[Path]
) -> None:
    with training(tmp_path, "--private", "--max_restarts=4", "--grace=10") as job:
        began = time.monotonic()
        hosts[1].unplug()
        job.wait_for("failed first: ssh could not reach its machine, or lost it (code 255).")
        assert time.monotonic() - began < 40
        assert "n2 failed first" in job.said or "worker 1 failed first" in job.said
        hosts[1].plug_in()
        job.wait_for("Starting all again in")
        begun = job.said.count("step: 200(")
        job.wait_for("all 2 workers are there", 4)
        until(lambda: job.said.count("(global step: ") > begun + 4, "steps after the restart")
        assert job.end(signal.SIGTERM) == 143, job.said
    until(lambda: not processes(), "the processes to go", 60)


def test_a_machine_whose_link_is_cut_is_named_without_private_too(
    tmp_path: Path, hosts: tuple[Host, Host]
) -> None:
    with training(tmp_path, "--max_restarts=0", "--grace=5") as job:
        hosts[1].unplug()
        assert job.process.wait(100) == 255, job.said
        hosts[1].plug_in()
    assert "ssh could not reach its machine, or lost it (code 255)." in job.said
    assert "n2" in job.said
    until(lambda: not processes(), "the processes to go", GRACE_SECONDS + 60)


def test_nothing_is_left_when_the_launcher_is_killed(
    tmp_path: Path, hosts: tuple[Host, Host], rooms: list[Path]
) -> None:
    networks_before = namespaces()
    with training(tmp_path, "--private") as job:
        job.end(signal.SIGKILL)
        until(lambda: not processes(), "the processes to go", 60)
        assert namespaces() == networks_before


def test_an_sshd_that_forwards_no_sockets(
    world: dict,
    tmp_path: Path,
    hosts: tuple[Host, Host],
    rooms: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = Path(world["folder"], "ssh/sshd_n2").read_text()
    (tmp_path / "sshd").write_text(
        f"{given}Port 2200\nAllowStreamLocalForwarding no\nPidFile {tmp_path}/pid\n".replace(
            "PidFile", "# PidFile", 1
        )
    )
    hosts[1].run("/usr/sbin/sshd", "-f", str(tmp_path / "sshd"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(
        '#!/bin/sh\ncase "$*" in *"-- n2"*) exec /usr/bin/ssh -p 2200 -o StrictHostKeyChecking=no'
        ' "$@";; esac\nexec /usr/bin/ssh "$@"\n'
    )
    (tmp_path / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    try:
        job = Job(tmp_path, "--private")
        assert job.process.wait(100) == 1
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    assert "--private: ssh can't forward Unix sockets to n2" in job.said
    assert "AllowStreamLocalForwarding yes" in job.said
