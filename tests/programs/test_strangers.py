"""Strangers at the ports of real jobs, before and after the tasks meet: the job goes on.

They send random bytes, break off in the middle of a greeting, prove another secret, send a chief's
proof back, and repeat what a task would have sent on an earlier connection.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import handshake, ports
from moxing.cluster.secret import Secret, new, read
from moxing.cluster.wire import Link
from moxing.launch.ports import free_ports

PROGRAMS = Path(__file__).parents[1] / "real" / "programs"
LIMIT = 240.0
CROWD, FEW = 1000, 10
# The second task comes late, so that strangers find the first one waiting.
LATE = """\
import json, os, sys, time
_task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
_chief = _task.get("type") == "master" or "--task_index=0" in open("/proc/self/cmdline").read()
if not (_chief or os.environ.get("MOX_MACHINE") == "0"):
    while not os.path.exists("go"):
        time.sleep(0.05)
"""
MOX = (sys.executable, "-m", "moxing")


def launched(folder: Path) -> list[subprocess.Popen]:
    words = ["launch", "--no-isolate", "--workers=2", "--logs=logs", "train.py", "home"]
    return [begun(folder, *MOX, *words)]


def of_uai(folder: Path) -> list[subprocess.Popen]:
    (folder / "data").mkdir()
    words = ["--no-isolate", "--nodes=2", "--data=data", "--output=home", "--logs=logs"]
    return [begun(folder, *MOX, "uai", "train", *words, "train.py home")]


def machines(folder: Path) -> list[subprocess.Popen]:
    listed = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    secret = new()
    return [
        begun(
            folder,
            *(sys.executable, "train.py", "home", listed),
            MOX_MACHINE=str(number),
            MOX_JOB_SECRET=secret,
        )
        for number in (0, 1)
    ]


def begun(folder: Path, *command: str, **variables: str) -> subprocess.Popen:
    with open(folder / "said", "ab") as said:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )


def waiting(folder: Path) -> tuple[int, int]:
    """The process and the port of the task in this folder that waits for the others."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        for inode, _, port in list(ports.listeners()):
            number = ports.holder(port, inode).removeprefix("process ").partition(" ")[0]
            with contextlib.suppress(OSError):
                if number and os.readlink(f"/proc/{number}/cwd") == str(folder):
                    return int(number), port
        time.sleep(0.1)
    raise AssertionError((folder / "said").read_text())


def secret_of(process: int) -> Secret:
    variables = Path(f"/proc/{process}/environ").read_text().split("\0")
    found = read(dict(line.split("=", 1) for line in variables if "=" in line))
    assert found is not None
    return found


class Stranger:
    """A connection to the chief's port."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    def line(self) -> bytes:
        """The next line of the other side; empty once that has closed the connection."""
        self.socket.settimeout(30)
        data = b""
        with contextlib.suppress(OSError):
            while not data.endswith(b"\n") and (more := self.socket.recv(1)):
                data += more
        return data


def told(secret: Secret, question: dict, answer: bytes) -> bytes:
    """What a task with this secret sends as its greeting, sealed for one connection only."""
    near, far = socket.socketpair()
    link = Link(near)
    handshake.seal(link, secret, handshake.TASK, question["nonce"], json.loads(answer)["nonce"])
    link.send(handshake.hello(Cluster(("127.0.0.1:1", "127.0.0.1:2"), index=1), {}))
    link.flush()
    data = far.recv(1 << 16)
    near.close(), far.close()
    return data


def attack(port: int, secret: Secret) -> list[Stranger]:
    """Strangers who stay; none of them may be welcomed."""
    noise = random.Random(5)
    held = [Stranger(port) for _ in range(CROWD)]
    for stranger in held:
        stranger.send(noise.randbytes(noise.randint(1, 300)))
    done, until = 0, time.monotonic() + LIMIT
    while done < FEW:
        assert time.monotonic() < until
        question = handshake.question()
        words = json.dumps(question).encode() + b"\n"
        half, wrong, mirror, first, again = (Stranger(port) for _ in range(5))
        half.send(words[:-9])
        for asking in (wrong, mirror, first, again):
            asking.send(words)
        held += [half, wrong, mirror, first, again]
        answers = [asking.line() for asking in (wrong, mirror, first, again)]
        if not all(answers):
            continue  # The chief makes room for others.
        done += 1
        wrong.send(told(Secret(b"a secret of somebody else"), question, answers[0]))
        mirror.send(answers[1])
        first.socket.close()  # The genuine task is cut off here, but was heard.
        again.send(told(secret, question, answers[2]))
        for refused in (wrong, mirror, again):
            assert b'"waiting"' not in refused.line()
    return held


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., list[subprocess.Popen]]]:
    running: list[subprocess.Popen] = []

    def start(how: Callable[[Path], list[subprocess.Popen]], program: str):
        (tmp_path / "train.py").write_text(LATE + (PROGRAMS / program).read_text())
        running.extend(how(tmp_path))
        return running

    yield start
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("how", "program"),
    [(launched, "run.py"), (of_uai, "keras_fit.py"), (machines, "flow_job.py")],
)
def test_a_job_goes_on_and_says_little(
    how: Callable[[Path], list[subprocess.Popen]],
    program: str,
    started: Callable[..., list[subprocess.Popen]],
    tmp_path: Path,
) -> None:
    processes = started(how, program)
    number, port = waiting(tmp_path)

    held = attack(port, secret_of(number))
    (tmp_path / "go").touch()
    noise = random.Random(6)
    until = time.monotonic() + LIMIT
    while any(process.poll() is None for process in processes):
        assert time.monotonic() < until, (tmp_path / "said").read_text()[-5000:]
        with contextlib.suppress(OSError):  # TensorFlow's own server listens there by now.
            held.append(Stranger(port))
            held[-1].send(noise.randbytes(100))
        del held[:-CROWD]
        time.sleep(0.02)

    said = (tmp_path / "said").read_text(errors="backslashreplace")
    assert [process.returncode for process in processes] == [0] * len(processes), said[-5000:]
    assert "learned " in said
    dropped = [line for line in said.splitlines() if "Dropped the connection" in line]
    assert 1 <= len(dropped) <= 3
    assert "more connections were dropped while the tasks met" in said
    assert all(line.replace("\t", "").isprintable() for line in said.splitlines()), said
    assert "restart" not in said
