"""Strangers at the chief's port, many and of all kinds: the job meets all the same, and soon."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import files, handshake, meeting, strangers
from moxing.cluster.secret import Secret
from moxing.errors import MoxRuntimeError
from moxing.launch.ports import free_ports

SECRET = Secret(b"correct horse battery staple")


class Job:
    """Two tasks of one job, as threads: the chief at once, the other when it is told."""

    def __init__(self, secret: Secret | None = SECRET) -> None:
        self.workers = tuple(f"127.0.0.1:{port}" for port in free_ports(2))
        self.errors: list[BaseException] = []
        self.threads = [
            threading.Thread(target=self._meet, args=(i, secret), daemon=True) for i in (0, 1)
        ]
        self.threads[0].start()
        host, port = self.workers[0].split(":")
        self.port = (host, int(port))

    def _meet(self, index: int, secret: Secret | None) -> None:
        try:
            cluster = Cluster(self.workers, index=index, secret=secret)
            for link in meeting.meet(cluster, {}, 60).values():
                link.close()
        except BaseException as error:
            self.errors.append(error)

    def dial(self) -> socket.socket:
        deadline = time.monotonic() + 120
        while True:
            try:
                connection = socket.create_connection(self.port, timeout=5)
            except ConnectionError:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            else:
                connection.setblocking(False)
                return connection

    def meets(self, within: float = 120) -> None:
        """Starts the other task; both must find each other."""
        assert self.threads[0].is_alive(), self.errors
        self.threads[1].start()
        for thread in self.threads:
            thread.join(within)
            assert not thread.is_alive()
        assert self.errors == []


def attacked(job: Job, count: int, data: bytes | None = None) -> list[socket.socket]:
    """Connections that stay open; each sends the data, or random bytes."""
    noise = random.Random(7)
    held = []
    for _ in range(count):
        held.append(job.dial())
        with contextlib.suppress(OSError):
            held[-1].send(noise.randbytes(noise.randint(1, 300)) if data is None else data)
    return held


@pytest.mark.parametrize("secret", [SECRET, None])
def test_a_thousand_connections_of_random_bytes(secret, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        job = Job(secret)
        held = attacked(job, 1000)
        job.meets()
    for connection in held:
        connection.close()
    dropped = [text for text in caplog.messages if text.startswith("Dropped the connection")]
    assert len(dropped) <= 3
    assert all(text.isprintable() for text in caplog.messages)
    assert any("more connections were dropped while the tasks met" in t for t in caplog.messages)


QUESTION = json.dumps(handshake.question()).encode() + b"\n"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", QUESTION[:-1], QUESTION, QUESTION + b"{"],
    ids=["nothing", "a bit", "unfinished", "question", "more"],  # Questions are random.
)
def test_half_open_greetings_give_way_to_a_task(data, monkeypatch):
    monkeypatch.setattr(files, "_MOST_STRANGERS", 40)
    monkeypatch.setattr(strangers, "_SECONDS", 600.0)
    job = Job()
    held = attacked(job, 120, data)
    job.meets()  # Before any of them has had its time.
    for connection in held:
        connection.close()


LINES = [
    b'{"kind":"' + b"x" * 3_000_000 + b'"}\n',
    b"x" * 3_000_000,
    b"{" * 3_000_000,
    b'{"kind":"hello","facts":' + b"[" * 60_000 + b"]" * 60_000 + b"}\n",
    b'{"a":' * 60_000 + b"1" + b"}" * 60_000 + b"\n",
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"\n",
    b'{"kind":"prove","protocol":2,"nonce":"' + b"0" * 60_000 + b'"}\n',
    b'{"kind":"prove","protocol":2,"nonce":' + b"9" * 60_000 + b"}\n",
    b'{"kind":"prove","protocol":2,"nonce":["a"]}\n' * 1000,
]
# To a chief without a secret, a question says that a task has one.
CASES = [(secret, line) for secret in (SECRET, None) for line in LINES]
CASES.append((SECRET, QUESTION * 1000))


@pytest.mark.parametrize(("secret", "data"), CASES, ids=range(len(CASES)))
def test_long_and_deep_lines(secret, data):
    job = Job(secret)
    connection = job.dial()
    connection.settimeout(5)
    with connection, contextlib.suppress(OSError):
        connection.sendall(data)
    job.meets()


FEW_FILES = """
import resource, socket, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from moxing.cluster.control.channel import join
from moxing.cluster.cluster import Cluster
from moxing.cluster.secret import Secret
def member(index):
    cluster = Cluster(tuple(sys.argv[1:]), index=index, secret=Secret(b"sixteen characters"))
    with join(cluster, digest={}, timeout=60, stall_timeout=60) as me:
        me.barrier("start", 60)
        sys.stdout.write("met\\n")
chief = threading.Thread(target=member, args=(0,))
chief.start()
print("ready", flush=True)
sys.stdin.readline()
other = threading.Thread(target=member, args=(1,))
other.start()
chief.join(), other.join()
"""


def test_a_chief_that_may_open_256_files():
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    process = subprocess.Popen(
        [sys.executable, "-c", FEW_FILES, *addresses],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    host, port = addresses[0].split(":")
    held: list[socket.socket] = []
    deadline = time.monotonic() + 20
    while len(held) < 500:
        try:
            held.append(socket.create_connection((host, int(port)), timeout=5))
        except ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    output, _ = process.communicate("go\n", timeout=240)
    for connection in held:
        connection.close()
    assert (process.returncode, output.split()) == (0, ["met", "met"])


def test_too_few_files_for_the_tasks_is_said_before_they_are_waited_for():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
        "from moxing.cluster.rendezvous.files import room_for_strangers\n"
        "room_for_strangers(1000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240
    )
    assert "This process may have 256 files open (ulimit -n), which is too few" in done.stderr
    assert MoxRuntimeError.__name__ in done.stderr
    soft_only = code.replace("(256, 256)", "(256, 4000)") + (
        "\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", soft_only], capture_output=True, text=True, check=False, timeout=240
    )
    assert 1000 < int(done.stdout) < 4000, done.stderr


NOBODY = """
import encodings.idna, json, os, socket, sys
pid, path, host, port = sys.argv[1:]
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
def tried(name):
    try:
        return open(name, "rb").read() and "read"
    except OSError as error:
        return type(error).__name__
link = socket.create_connection((host, int(port)), 5)
hello = {"kind": "hello", "protocol": 2, "task": "worker 1", "address": "a:1", "process": "p"}
link.sendall(json.dumps({**hello, "facts": {}}).encode() + b"\\n")
print(tried(path), tried(f"/proc/{pid}/environ"), link.makefile().readline())
"""


def test_two_users_of_one_machine(tmp_path):
    """Another user reads the secret neither in the file nor in the process, and joins no job."""
    path = tmp_path / "secret"
    path.write_text("correct horse battery staple")
    path.chmod(0o600)
    job = Job()
    holder = subprocess.Popen(["sleep", "60"], env={**os.environ, "MOX_JOB_SECRET": "x" * 20})
    command = [sys.executable, "-c", NOBODY, str(holder.pid), str(path), *map(str, job.port)]
    job.dial().close()
    try:
        environ = os.stat(f"/proc/{holder.pid}/environ")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    finally:
        holder.kill()
        holder.wait()
    assert done.returncode == 0, done.stderr
    of_file, of_process, told = done.stdout.split(" ", 2)
    if os.getuid() == 0:
        assert (of_file, of_process) == ("PermissionError", "PermissionError")
    # Who is not root can be no second user; the modes say that one would be refused.
    assert (environ.st_mode & 0o777, environ.st_uid) == (0o400, os.getuid())
    assert "takes only tasks that have the job's secret" in told
    job.meets()
