"""A job on one machine in a network of its own, by slirp4netns, seen from the other machine.

The other machine also has what the job reaches: a web server, and a store.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from machines import Host, answering, until

from moxing.launch.isolation import way_out

PORT = 8123
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
# Listens on every interface, as TensorFlow's server does; then asks what is outside.
TALK = """
import socket, sys, time, urllib.request
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:] if f.startswith("--"))
hosts, index = flags["worker_hosts"].split(","), int(flags["task_index"])
server = socket.create_server(("", int(hosts[index].rpartition(":")[2])))
for url in sys.argv[1].split(","):
    print("reached", url, urllib.request.urlopen(url, timeout=20).status, flush=True)
print("listens", server.getsockname()[1], flush=True)
while not server.accept()[0].recv(4).startswith(b"end"):
    pass
"""


@contextmanager
def serving(host: Host, at: str) -> Iterator[None]:
    """A web server on a machine, at an address of it."""
    words = [sys.executable, "-m", "http.server", "--bind", at, str(PORT)]
    server = subprocess.Popen(
        host.inside(*words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    ask = f"import urllib.request; urllib.request.urlopen('http://{at}:{PORT}')"
    try:

        def answers() -> bool:
            with contextlib.suppress(subprocess.CalledProcessError):
                host.run(sys.executable, "-c", ask)
                return True
            return False

        until(answers, "the web server")
        yield
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("flag", ["", "--no-isolate"])
def test_others_reach_no_port_and_the_tasks_reach_others(
    flag: str, hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    """Their machine's loopback too, where proxies, trackers and small stores often are."""
    (tmp_path / "talk.py").write_text(TALK)
    urls = [f"http://{at}:{PORT}/" for at in (hosts[1].address, "127.0.0.1", "localhost")]
    words = ["--workers=2", f"--logs={tmp_path}/logs", *filter(None, [flag])]
    command = [sys.executable, "-c", LAUNCH, *words, str(tmp_path / "talk.py"), ",".join(urls)]
    said = tmp_path / "said"
    with serving(hosts[1], hosts[1].address), serving(hosts[0], "127.0.0.1"):
        before = answering(hosts[0], hosts[1])
        with said.open("w") as file:
            job = subprocess.Popen(hosts[0].inside(*command), stdout=file, stderr=file)
        try:
            until(lambda: said.read_text().count("listens") == 2, "the tasks")
            more = answering(hosts[0], hosts[1]) - before
        finally:
            job.terminate()
            job.wait(60)
    text = said.read_text()
    assert text.count("reached ") == 2 * len(urls), text
    assert text.count(f"others through {way_out.ENGINE}") == (0 if flag else 1), text
    ports = {int(line.split()[-1]) for line in text.splitlines() if "listens" in line}
    assert more == (ports if flag else set()), text
