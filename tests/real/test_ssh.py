"""`mox launch --hosts --ssh` and `mox doctor --meet` between two machines with real sshd."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from machines import Host, until

from moxing.launch.guard import GRACE_SECONDS

LAUNCH = [sys.executable, "-m", "moxing", "launch", "--hosts=n1,n2", "--ssh"]
# In place of `mox run`: no training, so that a test takes seconds.
GUARDED = """
import pathlib, signal, sys, time
notes = pathlib.Path(sys.argv[1])
def hear(number, frame):
    notes.write_text("told")
signal.signal(signal.SIGTERM, hear)
notes.write_text("started")
time.sleep(600)
"""


MAIN = "from moxing.cli.main import main; sys.exit(main())"


def launched(
    folder: Path, *flags: str, program: Sequence[str] = ("train.py",)
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAUNCH, "--max_restarts=0", f"--logs={folder}/logs", *flags, *program],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=folder,
    )


def with_ssh_options(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Lets this user's `ssh` have further options, as a file of settings would."""
    (folder / "bin").mkdir()
    words = " ".join(f"-o {option}" for option in options)
    (folder / "bin/ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh {words} "$@"\n')
    (folder / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")


def test_an_unknown_host_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_ssh_options(tmp_path, monkeypatch, "UserKnownHostsFile=/dev/null")
    (tmp_path / "train.py").write_text("")
    done = launched(tmp_path)
    assert done.returncode == 255, done.stdout + done.stderr
    assert "Host key verification failed." in done.stdout + done.stderr


def test_no_password_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_ssh_options(tmp_path, monkeypatch, "IdentityFile=/dev/null", "PubkeyAuthentication=no")
    (tmp_path / "train.py").write_text("")
    done = launched(tmp_path)
    assert done.returncode == 255, done.stdout + done.stderr
    assert "Permission denied (publickey,password" in done.stdout + done.stderr


def test_a_task_ends_when_the_link_to_its_machine_is_cut(
    tmp_path: Path, hosts: tuple[Host, Host]
) -> None:
    """sshd does not know of it; the launcher's ssh does, and the guard once the link is back."""
    notes = tmp_path / "notes"
    (tmp_path / "task.py").write_text(GUARDED)
    guard = f"{sys.executable} -m moxing.launch.guard {sys.executable} {tmp_path}/task.py {notes}"
    alive = ["-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=3"]
    with subprocess.Popen(["ssh", *alive, "n2", guard], stdin=subprocess.PIPE) as process:
        until(notes.exists, "the task")
        hosts[1].unplug()
        assert process.wait(60) == 255
        hosts[1].plug_in()
    until(lambda: notes.read_text() == "told", "SIGTERM", GRACE_SECONDS + 60)


def test_machines_that_share_no_folder(tmp_path: Path, hosts: tuple[Host, Host]) -> None:
    """Worker 0 saves alone, and a worker with a later checkpoint than worker 0's says so."""
    own = tmp_path / "own"
    own.mkdir()
    hosts[1].run("mount", "-t", "tmpfs", "none", str(own))
    shutil.copy(Path(__file__).parent / "programs" / "run.py", tmp_path / "train.py")
    start = functools.partial(launched, tmp_path, program=("train.py", str(own)))
    try:
        first, turned = start(), start("--hosts=n2,n1")
    finally:
        hosts[1].run("umount", str(own))
    assert [first.returncode, turned.returncode] == [0, 0], first.stdout + turned.stdout
    assert "This worker has" not in first.stdout
    assert f"This worker has {own}/model.ckpt-200, but the job starts from step 0" in turned.stdout


def doctors(hosts: tuple[Host, Host], second: tuple[str, ...] = ("-m", "moxing")) -> list[str]:
    """What the doctors of both machines print, the second started by the words `second`."""
    listed = ",".join(f"{host.address}:2222" for host in hosts)
    started = [
        subprocess.Popen(
            host.inside(
                *(sys.executable, *words, "doctor", "--cluster", "--meet=30"),
                *(f"--worker_hosts={listed}", "--job_name=worker", f"--task_index={index}"),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index, (host, words) in enumerate(zip(hosts, (("-m", "moxing"), second), strict=True))
    ]
    said = [f"{doctor.communicate(timeout=220)[0]}exit {doctor.returncode}" for doctor in started]
    print("\n".join(said))
    return said


def test_doctors_on_two_machines(hosts: tuple[Host, Host]) -> None:
    """Each takes its port and asks the other, whose clock is 10 s ahead."""
    change = "import time; time.time = lambda now=time.time: now() + 10"
    said = doctors(hosts, ("-c", f"import sys; {change}; {MAIN}"))
    assert [text.rpartition("exit ")[2] for text in said] == ["0", "0"]
    assert "its clock is 10.0" in said[0]
    assert " s behind this one: log lines will not line up" in said[1]


def test_doctors_of_two_versions(hosts: tuple[Host, Host]) -> None:
    change = "from moxing.cluster.rendezvous import handshake; handshake.__version__ = '9.9'"
    said = doctors(hosts, ("-c", f"import sys; {change}; {MAIN}"))
    assert [text.rpartition("exit ")[2] for text in said] == ["1", "1"]
    for text in said:
        assert "worker 0 and 9.9 in worker 1. All tasks must be started alike." in text


def test_doctors_behind_a_firewall(hosts: tuple[Host, Host]) -> None:
    hosts[0].run("nft", "add table inet t")
    hosts[0].run("nft", "add chain inet t i { type filter hook input priority 0; }")
    hosts[0].run("nft", "add rule inet t i tcp dport 2222 drop")
    said = doctors(hosts)
    assert [text.rpartition("exit ")[2] for text in said] == ["0", "1"]
    assert f"worker 0 ({hosts[0].address}:2222)" in said[1]
