"""A job in a network of its own: its tasks reach each other, and nobody else reaches them."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.errors import MoxNotSupportedError
from moxing.launch.isolation import namespace

TRY = """
import sys
from moxing.errors import MoxNotSupportedError
from moxing.launch.isolation.namespace import isolate
try:
    isolate()
except MoxNotSupportedError as error:
    sys.exit(str(error))
"""
# Listens on every interface, as TensorFlow's server does, and is reached over loopback inside.
LISTEN = (
    TRY.replace("isolate()\n", "ISOLATE\n", 1)
    + """
import socket
server = socket.create_server(("", 0))
port = server.getsockname()[1]
socket.create_connection(("127.0.0.1", port), 5).close()
print(port, flush=True)
sys.stdin.read()
"""
)


def own_address() -> str:
    """An address of this machine beside loopback; "" if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing: only the route is looked up.
        except OSError:
            return ""
        return probe.getsockname()[0]


@pytest.mark.parametrize("isolated", [False, True])
def test_a_connection_through_the_own_address_is_refused(isolated: bool) -> None:
    allowed = subprocess.run(
        [sys.executable, "-c", TRY], capture_output=True, text=True, timeout=60, check=False
    )
    if isolated and allowed.returncode:
        assert allowed.stderr.startswith("--isolate: this kernel or container allows no network")
        pytest.skip(allowed.stderr)
    code = LISTEN.replace("ISOLATE", "isolate()" if isolated else "pass")
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        for address in filter(None, ["127.0.0.1", own_address()]):
            with socket.socket() as client:
                client.settimeout(5)
                refused = client.connect_ex((address, port))
            # Without isolation the same listener answers: the test can fail.
            assert refused == (errno.ECONNREFUSED if isolated else 0), address
        process.communicate(timeout=240)


SETTINGS = {
    "user/max_user_namespaces": "0",
    "user/max_net_namespaces": "0",
    "kernel/unprivileged_userns_clone": "0",
    "kernel/apparmor_restrict_unprivileged_userns": "1",
}


@pytest.mark.parametrize("forbidding", [[], *([name] for name in SETTINGS), list(SETTINGS)])
def test_what_forbids_it_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forbidding: list[str]
) -> None:
    """Of the settings of this machine, those that forbid namespaces are named with their values."""

    class Refusing:
        def unshare(self, flags: int) -> int:
            return -1

    for name in SETTINGS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{SETTINGS[name] if name in forbidding else 7}\n")
    monkeypatch.setattr(namespace, "_SYSCTL", tmp_path)
    monkeypatch.setattr(namespace.ctypes, "CDLL", lambda *_, **__: Refusing())
    monkeypatch.setattr(namespace.ctypes, "get_errno", lambda: errno.EPERM)
    with pytest.raises(MoxNotSupportedError) as caught:
        namespace.isolate("--private")
    said = [f"{name.replace('/', '.')}={SETTINGS[name]}" for name in forbidding]
    assert str(caught.value) == (
        "--private: this kernel or container allows no network namespace here (Operation not"
        " permitted). Run without --private on a private network, or let an administrator allow"
        " it: it is forbidden by "
        + (f"{', '.join(said)} of sysctl." if said else "a container's own rules, as it seems.")
    )


def test_a_launched_job_runs_isolated(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text("import socket\nprint([name for _, name in socket.if_nameindex()])\n")
    code = (
        "import sys; from moxing.launch import plan; from moxing.cli import launch\n"
        "default = plan.Plan.__init__.__defaults__\n"
        "plan.Plan.__init__.__defaults__ = tuple((sys.executable,) if v and isinstance(v, tuple)"
        " else v for v in default)\nsys.exit(launch.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--isolate", f"--logs={tmp_path}", str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PATH": str(tmp_path)},  # Without slirp4netns, which is a way out.
    )
    if "allows no network namespace" in done.stderr:
        assert done.returncode == 1
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout) == (0, "[worker 0] ['lo']\n"), done.stderr


# A machine with an address beside loopback: a network of the test's own, so that nothing is sent
# anywhere. It launches a job, as a process of its own, and tries to reach the job's ports.
MACHINE = (
    TRY
    + """
import fcntl, socket, struct, subprocess
own = "10.77.0.1"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    name = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(own))
    fcntl.ioctl(control, 0x8916, name)  # SIOCSIFADDR
job = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
ports = set()
for line in job.stdout:
    if "talked" in line:
        ports.add(int(line.split()[-1]))
    if len(ports) == 2:
        break
for address in ("127.0.0.1", own):
    for port in sorted(ports):
        with socket.socket() as client:
            client.settimeout(5)
            print(address, client.connect_ex((address, port)))
job.terminate()
job.wait(30)
"""
)
LAUNCH = """
import sys
from pathlib import Path
from moxing.launch.isolation.namespace import isolate
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
if sys.argv[3] == "isolated":
    isolate()
plan = Plan(sys.argv[1], workers=2, runner=(sys.executable,))
sys.exit(supervise(plan, Path(sys.argv[2])))
"""
# Listens on every interface, as TensorFlow's server does, and reaches its partner over loopback.
TALK = """
import socket, sys, time
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:])
hosts, index = flags["worker_hosts"].split(","), int(flags["task_index"])
port = int(hosts[index].rpartition(":")[2])
server = socket.create_server(("", port))
host, other = hosts[1 - index].split(":")
until = time.monotonic() + 240
while True:
    try:
        socket.create_connection((host, int(other)), 5)
        break
    except ConnectionRefusedError:
        assert time.monotonic() < until
        time.sleep(0.02)
print("talked", port, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("isolated", [False, True])
def test_the_tasks_talk_and_the_own_address_refuses(tmp_path: Path, isolated: bool) -> None:
    (tmp_path / "talk.py").write_text(TALK)
    words = [str(tmp_path / "talk.py"), str(tmp_path / "logs"), "isolated" if isolated else "open"]
    done = subprocess.run(
        [sys.executable, "-c", MACHINE, "-c", LAUNCH, *words],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    if "allows no network namespace" in done.stderr:
        pytest.skip(done.stderr)
    code = errno.ECONNREFUSED if isolated else 0
    lines = [f"{address} {code}" for address in ("127.0.0.1", "10.77.0.1") for _ in range(2)]
    assert done.stdout.splitlines() == lines, done.stderr
