"""Tasks in networks of their own: they talk, nobody else reaches them, and nothing is left."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moxing.cli import launch
from moxing.cluster.rendezvous.ports import is_free
from moxing.errors import MoxRuntimeError
from moxing.launch.gang import Limits
from moxing.launch.hosts import spread
from moxing.launch.plan import Plan
from moxing.launch.ports import free_ports
from moxing.launch.private import carriers
from moxing.launch.private.inside import probe
from moxing.launch.private.job import private
from moxing.launch.supervise import supervise

LIMITS = Limits(explain=2.0, stop=5.0, ps=1.0)
# Listens on every interface, as TensorFlow's server does, and talks to every other task.
TALK = """
import os, socket, sys, threading, time
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:] if "=" in f)
job, index = flags["job_name"], int(flags["task_index"])
tasks = [(k, i, a) for k in ("worker", "ps") for i, a in enumerate(
    (flags.get(k + "_hosts") or "").split(",")) if a]
[mine] = [a for k, i, a in tasks if (k, i) == (job, index)]
server = socket.create_server(("", int(mine.rpartition(":")[2])))
def answer():
    while True:
        connection, _ = server.accept()
        with connection:
            connection.sendall(f"{job} {index} hears {connection.recv(100).decode()}".encode())
threading.Thread(target=answer, daemon=True).start()
def ask(at):
    host, port = at.split(":")
    until = time.monotonic() + 240
    while True:
        try:
            with socket.create_connection((host, int(port)), 5) as asking:
                asking.sendall(f"{job} {index}".encode())
                if said := asking.recv(100).decode():
                    return said
        except OSError:
            pass
        assert time.monotonic() < until, at
        time.sleep(0.05)
heard = [ask(a) for k, i, a in tasks]
assert heard == [f"{k} {i} hears {job} {index}" for k, i, a in tasks], heard
print("interfaces", [name for _, name in socket.if_nameindex()], "at", mine, flush=True)
mark = f"{os.path.dirname(__file__)}/met-{job}-{index}"
open(mark, "a").write("x")
def meet(times=1):  # Until every task has heard all the others, as often.
    marks = [f"{os.path.dirname(__file__)}/met-{k}-{i}" for k, i, a in tasks]
    while not all(os.path.exists(m) and os.path.getsize(m) >= times for m in marks):
        time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def allowed() -> None:
    if problem := probe():
        pytest.skip(problem)


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which all folders for sockets are made."""
    # A path of pytest's would be too long for sockets.
    folder = Path("/tmp", f"mox-test-{os.getpid()}-{tmp_path.name[-12:]}")
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def run(folder: Path, body: str, hosts: str = "a,me@b", restarts: int = 0, ps: int = 0) -> int:
    (folder / "talk.py").write_text(TALK + body)
    plan = Plan(str(folder / "talk.py"), (), 3, ps, runner=(sys.executable,))
    job = private(spread(plan, hosts, 2222))
    return supervise(job, folder / "logs", restarts, 0.01, LIMITS, job.network)


def left(rooms: Path) -> list[str]:
    """What a job has left: folders, and processes that know them."""
    found = [path.name for path in rooms.iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(rooms).encode() in words:
            found.append(words.decode(errors="replace"))
    return found


def until_nothing_is_left(rooms: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while found := left(rooms):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    rooms.rmdir()


def test_without_slirp4netns_each_machine_says_so_once(
    tmp_path: Path, rooms: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin/slirp4netns").write_text("#!/bin/sh\necho no tun; exit 1\n")
    assert run(tmp_path, "meet()") == 0
    note = (
        "mox: note: the tasks of this machine reach only the other tasks: slirp4netns makes no way"
        " out here: no tun."
    )
    said = [line for line in capfd.readouterr().out.splitlines() if "note" in line]
    assert sorted(said) == [f"[worker 0] {note}", f"[worker 2] {note}"]


def test_all_tasks_talk_on_loopback_alone(
    tmp_path: Path, rooms: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "meet()", ps=1) == 0
    out, error = capfd.readouterr()
    assert sorted(out.splitlines()) == [
        "[ps 0] interfaces ['lo'] at 127.1.0.1:2225",
        "[worker 0] interfaces ['lo'] at 127.1.0.1:2222",
        "[worker 1] interfaces ['lo'] at 127.1.0.1:2223",
        "[worker 2] interfaces ['lo'] at 127.1.0.2:2224",
    ]
    assert error == (
        "mox launch: The tasks' network is private. In it, a is 127.1.0.1, me@b is 127.1.0.2.\n"
    )
    until_nothing_is_left(rooms, 0.5)


def test_a_death_starts_all_again_in_a_new_network(
    tmp_path: Path, rooms: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
starts = os.path.getsize(mark)
meet(starts)
if starts == 1 and (job, index) == ("worker", 2):
    os.kill(os.getpid(), 9)
time.sleep(0 if starts == 2 else 600)
"""
    assert run(tmp_path, body, restarts=1) == 0
    out, error = capfd.readouterr()
    assert "worker 2 failed first: killed by SIGKILL (code 137)." in error
    assert out.count("interfaces ['lo']") == 6
    until_nothing_is_left(rooms, 0.5)


def test_a_lost_connection_is_named_and_all_start_again(
    tmp_path: Path, rooms: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The ssh that carries the traffic of one machine ends; the tasks' own go on."""
    body = """
starts = os.path.getsize(mark)
meet(starts)
if starts == 1 and (job, index) == ("worker", 2):
    import glob
    [control] = glob.glob(os.environ["TMPDIR"] + "/*/ssh-1")
    os.kill(int(open(control).read()), 9)
time.sleep(0 if starts == 2 else 600)
"""
    began = time.monotonic()
    assert run(tmp_path, body, restarts=1) == 0
    assert time.monotonic() - began < 60
    error = capfd.readouterr().err
    assert "mox launch: the connection to me@b failed first: killed by SIGKILL" in error
    assert f"Its output is in {tmp_path}/logs/connection-b.log." in error
    until_nothing_is_left(rooms)


def test_a_machine_that_is_down_counts_as_a_death(
    tmp_path: Path, rooms: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "", hosts="a,down", restarts=1) == 255
    error = capfd.readouterr().err
    named = "mox launch: the connection to down failed first: ssh could not reach its machine, or"
    assert error.count(named) == 2
    assert "    ssh: connect to host down: No route to host\n" in error
    assert "Starting all again in 0.01 s: restart 1 of 1." in error
    until_nothing_is_left(rooms)


@pytest.mark.parametrize(
    ("host", "message"),
    [
        (
            "refusing",
            "--private: ssh can't forward Unix sockets to refusing (remote port forwarding failed)."
            " Its sshd must allow them: AllowStreamLocalForwarding yes, and no DisableForwarding"
            " (OpenSSH 6.7 or later).",
        ),
        ("old", "old: No module named moxing.launch.private"),
        (
            "silent",
            "--private: after 6 s, ssh to silent has not carried the first bytes. Does"
            " `ssh HOST true` end at once?",
        ),
    ],
)
def test_what_no_restart_would_mend(
    tmp_path: Path, rooms: Path, monkeypatch: pytest.MonkeyPatch, host: str, message: str
) -> None:
    if host == "silent":
        monkeypatch.setattr(carriers, "_OPEN_SECONDS", 6.0)
    with pytest.raises(MoxRuntimeError) as caught:
        run(tmp_path, "", hosts=f"a,{host}", restarts=3)
    assert str(caught.value) == message
    until_nothing_is_left(rooms)


LAUNCHER = """
import sys
from pathlib import Path
from moxing.launch.gang import Limits
from moxing.launch.hosts import spread
from moxing.launch.plan import Plan
from moxing.launch.private.job import private
from moxing.launch.supervise import supervise
plan = Plan(sys.argv[1], (), 2, runner=(sys.executable,))
job = private(spread(plan, sys.argv[3], 2222))
sys.exit(supervise(job, Path(sys.argv[2]), 3, 0.01, Limits(2.0, 40.0, 1.0), job.network))
"""
SAVE = """
import signal
def save(number, frame):
    # Saving needs the others still, as a last step does.
    print("saved with", len([ask(a) for k, i, a in tasks]), flush=True)
    open(mark, "a").write("x")
    meet(2)
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
print("ready", flush=True)
time.sleep(600)
"""


def launched(folder: Path, body: str, hosts: str = "a,b") -> subprocess.Popen[str]:
    """A launcher in a process of its own, both of whose tasks are ready if they ever are."""
    (folder / "talk.py").write_text(TALK + body)
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(folder / "talk.py"), str(folder / "logs"), hosts],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if hosts == "a,b":
        assert process.stdout is not None
        ready = 0
        while ready < 2:
            line = process.stdout.readline()
            assert line, process.communicate()
            ready += "ready" in line
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tasks_that_are_told_to_stop_still_reach_each_other(
    tmp_path: Path, rooms: Path, number: int
) -> None:
    process = launched(tmp_path, SAVE)
    process.send_signal(number)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 128 + number, error
    assert out.count("saved with 2") == 2
    until_nothing_is_left(rooms, 0.5)


def test_nothing_is_left_when_the_launcher_is_killed(tmp_path: Path, rooms: Path) -> None:
    process = launched(tmp_path, SAVE)
    assert left(rooms)
    process.kill()
    process.communicate(timeout=120)
    until_nothing_is_left(rooms)


def test_a_signal_while_the_machines_are_waited_for(tmp_path: Path, rooms: Path) -> None:
    process = launched(tmp_path, "", "a,silent")
    deadline = time.monotonic() + 60
    while len(list(rooms.glob("*/ssh-*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    until_nothing_is_left(rooms)


@pytest.mark.parametrize("hidden", [False, True])
def test_no_port_is_open_outside(tmp_path: Path, rooms: Path, hidden: bool) -> None:
    """The same job answers here without a private network: the test can fail."""
    (tmp_path / "talk.py").write_text(TALK + "print('ready', flush=True)\ntime.sleep(600)\n")
    code = LAUNCHER if hidden else LAUNCHER.replace("private(spread(", "(spread(")
    if not hidden:
        port = next(port for port in free_ports(50) if is_free(port + 1))
        code = code.replace(", job.network", "").replace(
            "sys.argv[3], 2222", f"'127.0.0.1', {port}"
        )
    words = [str(tmp_path / "talk.py"), str(tmp_path / "logs"), "a,b"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while sum("ready" in line for line in lines) < 2:
            lines.append(process.stdout.readline())
            assert lines[-1]
        ports = [int(line.rpartition(":")[2]) for line in lines if "interfaces" in line]
        found = []
        for port in ports:
            with socket.socket() as client:
                client.settimeout(5)
                found.append(client.connect_ex(("127.0.0.1", port)))
        process.terminate()
        process.wait(120)
    assert found == [errno.ECONNREFUSED if hidden else 0] * 2
    until_nothing_is_left(rooms)


def test_a_machine_that_allows_no_network_namespace(tmp_path: Path, rooms: Path) -> None:
    """The kernel itself refuses, by a limit of this user's that holds in this process alone."""
    own_limit = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    alone = ["unshare", "--user", "--map-root-user", "sh", "-c", own_limit, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user may set limits of its own here")
    (tmp_path / "talk.py").write_text(TALK)
    words = [sys.executable, "-c", LAUNCHER, str(tmp_path / "talk.py"), str(tmp_path), "a,b"]
    done = subprocess.run(
        [*alone, *words], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 1
    assert ": --private: this kernel or container allows no network namespace" in done.stderr
    assert "it is forbidden by user.max_net_namespaces=0 of sysctl." in done.stderr
    assert "Starting all again" not in done.stderr
    until_nothing_is_left(rooms)


def test_the_folders_are_their_owners_alone(tmp_path: Path, rooms: Path) -> None:
    process = launched(tmp_path, SAVE)
    folders = list(rooms.iterdir())
    assert len(folders) == 3  # The launcher's, and one for each machine.
    assert [path.stat().st_mode & 0o7777 for path in folders] == [0o700] * 3
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    until_nothing_is_left(rooms)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--private"],
            "--private needs --hosts=A,B and --ssh, which carries the connections. On one machine,"
            " --isolate keeps others out.",
        ),
        (
            ["--private", "--hosts=a,b"],
            "--private needs --hosts=A,B and --ssh, which carries the connections. On one machine,"
            " --isolate keeps others out.",
        ),
        (
            ["--private", "--hosts=a,b", "--ssh", "--workers=200", "--ps=57"],
            "--private with 257 tasks: 256 is the most, as all that they send to other machines"
            " passes through this one.",
        ),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "train.py").touch()
    assert launch.main([*flags, "train.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"
