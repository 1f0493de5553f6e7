"""Two users of one machine: neither joins, reads or stops the job of the other.

Run by root, who can be both; nothing is run elsewhere.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moxing.launch.private.inside import probe

OWNER, OTHER = 64_001, 65_534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
LIMIT = 120.0
# `mox launch`, but for its way of running programs: without an import of TensorFlow.
LAUNCH = """
import sys
from moxing.cli import launch
from moxing.launch import plan
default = plan.Plan.__init__.__defaults__
plan.Plan.__init__.__defaults__ = tuple(
    (sys.executable,) if each and isinstance(each, tuple) else each for each in default
)
sys.exit(launch.main(sys.argv[1:]))
"""
# Listens on every interface, as TensorFlow's server does.
TASK = """
import os, socket, sys, time
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:] if f.startswith("--"))
hosts, index = flags["worker_hosts"].split(","), int(flags["task_index"])
server = socket.create_server(("", int(hosts[index].rpartition(":")[2])))
print("listens", server.getsockname()[1], os.getpid(), os.getuid(), flush=True)
time.sleep(600)
"""
ATTACK = """
import json, os, signal, socket, sys
def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"
port, pid = int(sys.argv[1]), int(sys.argv[2])
at = f"/proc/{pid}"
print(json.dumps({
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", port), 5)),
    "environ": tried(lambda: open(at + "/environ", "rb").read()),
    "memory": tried(lambda: open(at + "/mem", "rb")),
    "files": tried(lambda: os.listdir(at + "/fd")),
    "network": tried(lambda: open(at + "/ns/net")),
    "stop": tried(lambda: os.kill(pid, signal.SIGTERM)),
    "stacks": tried(lambda: os.kill(pid, signal.SIGUSR1)),
    "logs": tried(lambda: open(sys.argv[3]).read()),
}))
"""
DENIED = "PermissionError"
REFUSED = {
    **dict.fromkeys(("environ", "memory", "files", "network", "stop", "stacks", "logs"), DENIED),
    "connect": "ConnectionRefusedError",
}


def as_user(number: int, *command: str) -> list[str]:
    """A command that runs as a user, with a Python that the user may start."""
    code = "import os, sys; n = int(sys.argv[1]); os.setgroups([]); os.setgid(n); os.setuid(n)\n"
    code += "os.execvp(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-c", code, str(number), *command]


@pytest.fixture(scope="module")
def python() -> str:
    """A Python that everybody may start, which finds openmox by PYTHONPATH; else nothing is run."""
    for program in (sys.executable, "/usr/bin/python3"):
        asked = [program, "-c", "import moxing.launch.plan"]
        done = subprocess.run(
            unshared(as_user(OWNER, *asked)),
            env={**os.environ, "PYTHONPATH": paths()},
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode == 0:
            return program
    pytest.skip("no Python that other users may start has the packages")


def paths() -> str:
    return os.pathsep.join(path for path in sys.path if path)


def unshared(command: list[str], before: str = "") -> list[str]:
    """A command in a mount namespace, behind the lines of a shell."""
    return ["unshare", "-m", "sh", "-c", f"{before} exec {shlex.join(command)}"]


@contextmanager
def running(folder: Path, python: str, user: int, *flags: str) -> Iterator[list[list[str]]]:
    """A job of two tasks of a user; the port, the process and the user of each."""
    home = folder / "home"
    home.mkdir()
    os.chown(home, user, user)
    (folder / "x.py").write_text(TASK)
    tun = f"{folder}/tun"
    # Distributions let everybody open /dev/net/tun.
    before = f"umask 077; mknod {tun} c 10 200; chmod 666 {tun}; mount --bind {tun} /dev/net/tun;"
    words = ["--workers=2", *flags, f"--logs={home}/logs", str(folder / "x.py")]
    command = unshared(as_user(user, python, "-c", LAUNCH, *words), before)
    own = {"HOME": str(home), "PYTHONPATH": paths(), "TMPDIR": str(home)}
    said = folder / "said"
    with said.open("w") as file:
        job = subprocess.Popen(
            command, cwd=home, env={**os.environ, **own}, stdout=file, stderr=file
        )
    try:
        until = time.monotonic() + LIMIT
        while (text := said.read_text()).count("listens") < 2:
            assert job.poll() is None, text
            assert time.monotonic() < until, text
            time.sleep(0.05)
        yield [line.split()[-3:] for line in text.splitlines() if "listens" in line]
    finally:
        job.terminate()
        code = job.wait(LIMIT)
    assert code == 143, said.read_text()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users may enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="mox-users-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize("user", [OWNER, 0])
@pytest.mark.parametrize("flag", ["", "--isolate", "--no-isolate"])
def test_the_job_of_a_user_is_nobody_else_s(
    user: int, flag: str, shared: Path, python: str, request: pytest.FixtureRequest
) -> None:
    """But for its ports, where it stays in the machine's network."""
    if flag != "--no-isolate" and probe():
        pytest.skip(probe())
    if not flag:
        request.getfixturevalue("_leads_out")
    with running(shared, python, user, *filter(None, [flag])) as tasks:
        for number, (port, pid, of) in enumerate(tasks):
            assert of == str(user)
            log = f"{shared}/home/logs/worker-{number}.log"
            asked = subprocess.run(
                as_user(OTHER, python, "-c", ATTACK, port, pid, log),
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
            assert asked.returncode == 0, asked.stderr
            open_port = {"connect": "done"} if flag == "--no-isolate" else {}
            assert json.loads(asked.stdout) == {**REFUSED, **open_port}
