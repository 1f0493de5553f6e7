"""Several machines: the commands for each, and the same over an ssh that stays on this machine."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moxing.cli import launch
from moxing.errors import shown
from moxing.launch.gang import Limits
from moxing.launch.hosts import addresses_of, over_ssh, spread
from moxing.launch.plan import Plan
from moxing.launch.ports import free_ports
from moxing.launch.supervise import supervise

LIMITS = Limits(explain=1.0, stop=3.0, ps=1.0)
# As the real one: the words behind the host go to a shell, whose process is not the caller's child,
# so that no signal reaches it.
SSH = """#!/bin/bash
while [[ $1 == -* ]]; do
  case $1 in -o) shift 2 ;; --) shift; break ;; *) exit 255 ;; esac
done
host=$1; shift
[[ $host == down ]] && exit 255
setsid --wait bash -c "echo on $host; $*" <&0
"""
HEAD = """
import os, signal, sys, time
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:] if "=" in f)
job, index = flags.get("job_name", "worker"), int(flags.get("task_index", 0))
mark = f"{os.path.dirname(__file__)}/starts-{job}-{index}"
starts = os.path.getsize(mark) if os.path.exists(mark) else 0
open(mark, "a").write("x")


def meet():  # Waits until the other worker has begun as often.
    other = f"{os.path.dirname(__file__)}/starts-{job}-{1 - index}"
    while not os.path.exists(other) or os.path.getsize(other) <= starts:
        time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)


def script(folder: Path, body: str) -> str:
    (folder / "my program.py").write_text(HEAD + body)
    return str(folder / "my program.py")


def run(folder: Path, body: str, hosts: str = "a,me@b", restarts: int = 0) -> int:
    plan = Plan(script(folder, body), ("--own=x y",), 2, runner=(sys.executable,))
    return supervise(spread(plan, hosts, 2222), folder / "logs", restarts, 0.01, LIMITS)


def gone(pid: int, limit: float = 60.0) -> bool:
    until = time.monotonic() + limit
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_the_commands_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    flags = ["--hosts=a,me@b", "--workers=3", "--ps=1", "--port=4000", "--num_gpus=2"]

    assert launch.main([*flags, "train.py", "--note=a b"]) == 0

    rest = "--worker_hosts=a:4000,a:4001,b:4000 --ps_hosts=a:4002"
    begin = "mox run train.py '--note=a b' --num_gpus=2"
    assert capsys.readouterr().out.splitlines() == [
        "# To keep others out, make a secret once, and copy its file to the same path on each"
        " machine:",
        "#   (umask 077; openssl rand -hex 32 > ~/mox-job.secret)",
        "# and put MOX_JOB_SECRET_FILE=~/mox-job.secret before each of these commands.",
        "# On a:",
        f"CUDA_VISIBLE_DEVICES=0,1 {begin} --job_name=worker --task_index=0 {rest}",
        f"CUDA_VISIBLE_DEVICES=2,3 {begin} --job_name=worker --task_index=1 {rest}",
        f"CUDA_VISIBLE_DEVICES=-1 {begin} --job_name=ps --task_index=0 {rest}",
        "# On me@b:",
        f"{begin} --job_name=worker --task_index=2 {rest}",
    ]


def test_one_worker_a_host_if_nothing_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    assert launch.main(["--hosts=a,b,c", "train.py"]) == 0
    assert capsys.readouterr().out.count("--worker_hosts=a:2222,b:2222,c:2222") == 3


LONG = f"--hosts: {shown('a' * 256)} is no name of a machine; ports are chosen by --port."


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--hosts=,"], "--hosts=, names no machine: --hosts=a,b."),
        (["--hosts=a:1,b"], "--hosts: 'a:1' is no name of a machine; ports are chosen by --port."),
        (
            ["--hosts=-oX=y,b"],
            "--hosts: '-oX=y' is no name of a machine; ports are chosen by --port.",
        ),
        (["--hosts=a\nb"], r"--hosts: 'a\nb' is no name of a machine; ports are chosen by --port."),
        ([f"--hosts={'a' * 256}"], LONG),
        (["--hosts=a,me@a"], "--hosts=a,me@a names a twice."),
        (
            ["--hosts=a,b", "--workers=1"],
            "--workers=1 is too few for 2 hosts; each has at least one.",
        ),
        (["--hosts=a,b", "--port=0"], "--port=0 must be from 1 to 65535, with room behind."),
        (["--ssh"], "--ssh needs --hosts=A,B, the machines to go to."),
        (
            ["--hosts=a", "--emit=slurm"],
            "--hosts with --emit=slurm: the scheduler chooses machines.",
        ),
        (
            ["--hosts=a", "--isolate"],
            "--hosts with --isolate: a network of its own is within one machine.",
        ),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "train.py").touch()
    assert launch.main([*flags, "train.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"


def test_each_task_runs_on_its_host(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "print(index, flags['own'], os.getcwd(), flags['worker_hosts'])") == 0

    lines = capfd.readouterr().out.splitlines()
    for index, host in enumerate(("a", "me@b")):
        mine = [line for line in lines if line.startswith(f"[worker {index}] ")]
        assert mine == [
            f"[worker {index}] on {host}",
            f"[worker {index}] {index} x y {tmp_path} a:2222,b:2222",
        ]


def test_an_error_there_stops_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
meet()
if index == 1:
    sys.exit(7)
time.sleep(60)
"""
    assert run(tmp_path, body, restarts=2) == 7
    error = capfd.readouterr().err
    assert "mox launch: worker 1 failed first: code 7." in error
    assert "mox launch: worker 0 then: told to stop, or lost a partner (code 143)." in error
    assert (tmp_path / "starts-worker-0").stat().st_size == 1


def test_a_death_there_starts_all_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
meet()
if starts == 0:
    if index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
"""
    assert run(tmp_path, body, restarts=1) == 0
    assert "worker 1 failed first: killed by SIGKILL (code 137)." in capfd.readouterr().err
    assert (tmp_path / "starts-worker-0").stat().st_size == 2


def test_a_machine_without_the_program_s_folder(tmp_path: Path) -> None:
    plan = Plan(str(tmp_path / "train.py"), (), 2, runner=(sys.executable,))
    job = dataclasses.replace(spread(plan, "a,b", 2222), directory=tmp_path / "it's gone")
    command = over_ssh(job, job.plan.tasks[1], addresses_of(job))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"mox launch: b has no folder {tmp_path}/it's gone, in which the program starts. Copy the"
        " program to the same path there, or mount its folder.\n"
    )


def test_a_machine_that_ssh_does_not_reach(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "time.sleep(60)", hosts="a,down", restarts=1) == 255
    error = capfd.readouterr().err
    assert error.count("mox launch: worker 1 failed first: ssh could not reach its machine") == 2


LAUNCHER = """
import sys
from pathlib import Path
from moxing.launch.gang import Limits
from moxing.launch.hosts import addresses_of, over_ssh, spread
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
plan = Plan(sys.argv[1], (), 2, runner=(sys.executable,))
job = spread(plan, "a,b", 2222)
sys.exit(supervise(job, Path(sys.argv[2]), limits=Limits(1.0, float(sys.argv[3]), 1.0)))
"""
POLITE = """
def save(number, frame):
    print("saved", flush=True)
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, save)
"""
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
READY = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print("ready", os.getpid(), child.pid, flush=True)
time.sleep(300)
"""


def launched(folder: Path, body: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A launcher in a process of its own, and the numbers of all that runs on the hosts."""
    stop = "3" if body == STUBBORN else "40"
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, script(folder, body + READY), str(folder / "logs"), stop],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    found: list[int] = []
    while len(found) < 4:
        line = process.stdout.readline()
        assert line
        found += map(int, line.partition("ready")[2].split())
    return process, found


@pytest.mark.parametrize("body", [POLITE, STUBBORN])
def test_a_signal_reaches_the_hosts(tmp_path: Path, body: str) -> None:
    process, there = launched(tmp_path, body)

    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=90)

    assert process.returncode == 143
    assert output.count("saved") == (2 if body == POLITE else 0)
    assert all(gone(pid) for pid in there)


def test_nothing_is_left_on_the_hosts_when_the_launcher_is_killed(tmp_path: Path) -> None:
    process, there = launched(tmp_path, POLITE)

    process.kill()
    process.communicate(timeout=90)

    assert all(gone(pid) for pid in there)


TRAIN = """
import sys
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf


def input_fn(run_mode, **kwargs):
    return tf.ones([4, 2])


def model_fn(inputs, run_mode, **kwargs):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(inputs[0], 1)))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


mox.run(input_fn=input_fn, model_fn=model_fn, run_mode=mox.ModeKeys.TRAIN,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
        log_dir=FOLDER, max_number_of_steps=20)
"""


@pytest.mark.slow
def test_a_job_trains_over_ssh(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("FOLDER", repr(f"{tmp_path}/out")))
    # Both on one machine, as TensorFlow's servers listen on all of its addresses.
    port = next(one for one in free_ports(50) if is_free(one + 1))
    done = subprocess.run(
        [sys.executable, "-m", "moxing", "launch", "--hosts=127.0.0.1", "--ssh", "--workers=2"]
        + [f"--port={port}", "--max_restarts=0", "train.py"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "[worker 0] on 127.0.0.1\n" in done.stdout
    assert (tmp_path / "out" / "model.ckpt-20.index").exists()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
