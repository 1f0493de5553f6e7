"""Two machines whose link takes 50 ms each way and loses one packet of a hundred.

The tests' own machine is not behind it, so the launcher runs on the first of the two.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from machines import Host, until

TOOL = Path(__file__).parents[2] / "tools/slow_link.py"
TRAIN = (Path(__file__).parent / "programs/endless.py").read_text()
PING = """
import socket, sys, time
def lasts():
    began = time.monotonic()
    socket.create_connection((sys.argv[1], 22), 20).close()
    return time.monotonic() - began
print(min(lasts() for _ in range(5)))
"""
# A store, and objects of it that go there and back.
STORE = "from moto.server import ThreadedMotoServer as S; import sys, threading\n"
STORE += "S(sys.argv[1], 9753, verbose=False).start(); print('ready', flush=True)\n"
STORE += "threading.Event().wait()"
COPY = """
import sys
from moxing.framework import file
folder, url = sys.argv[1:]
file.copy_parallel(folder, url)
file.copy_parallel(url, folder + "-back")
print("listed", len(file.list_directory(url)))
"""


@pytest.fixture
def slow(hosts: tuple[Host, Host]) -> Iterator[tuple[Host, Host]]:
    """The link is slow until the end of the test; that is measured first."""
    words = [sys.executable, str(TOOL), *(f"{host.pid}={host.address}" for host in hosts)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as link:
        assert link.stdout is not None
        try:
            assert link.stdout.readline() == "ready\n"
            round_trip = float(hosts[0].run(sys.executable, "-c", PING, hosts[1].address))
            assert 0.1 < round_trip < 1
            yield hosts
        finally:
            link.kill()


@pytest.mark.timeout(400)
def test_a_job_over_ssh_trains_saves_and_says_nothing_of_lost_tasks(
    slow: tuple[Host, Host], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    said = tmp_path / "said"
    words = ["-m", "moxing", "launch", "--hosts=n1,n2", "--ssh", "--port=2551"]
    command = [sys.executable, *words, f"--logs={tmp_path}/logs", "train.py", "log"]
    with said.open("w") as file:
        # Entering a machine leaves the folder that this process is in.
        job = subprocess.Popen(
            slow[0].inside("env", "-C", str(tmp_path), *command), stdout=file, stderr=file
        )
    try:

        def trains() -> bool:
            assert job.poll() is None, said.read_text()
            return "global_step/sec" in said.read_text()

        # A step waits for the other machine several times, and for what is sent again.
        until(trains, "100 steps", 300)
        job.send_signal(signal.SIGTERM)
        assert job.wait(60) == 143
    finally:
        job.kill()
        print(said.read_text())
    assert list((tmp_path / "log").glob("model.ckpt-*.index"))
    assert not re.search(r"stood still|died|lost|restart", said.read_text())


def test_files_go_to_a_store_and_come_back_whole(slow: tuple[Host, Host], tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}.bin").write_bytes(os.urandom(number * 5000))
    store = subprocess.Popen(
        slow[1].inside(sys.executable, "-c", STORE, slow[1].address),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert store.stdout is not None
        assert store.stdout.readline() == "ready\n"
        environ = {
            "S3_ENDPOINT": f"http://{slow[1].address}:9753",
            "ACCESS_KEY_ID": "a",
            "SECRET_ACCESS_KEY": "b",
        }
        make = "import os, boto3; boto3.client('s3', endpoint_url=os.environ['S3_ENDPOINT'],"
        make += "aws_access_key_id='a', aws_secret_access_key='b', region_name='us-east-1')"
        make += ".create_bucket(Bucket='bucket')"
        began = time.monotonic()
        for code, *more in ((make,), (COPY, str(folder), "s3://bucket/files")):
            done = subprocess.run(
                slow[0].inside(sys.executable, "-c", code, *more),
                env={**os.environ, **environ},
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            print(f"{time.monotonic() - began:.1f} s", done.stderr)
            assert done.returncode == 0, done.stderr
    finally:
        store.kill()
        store.wait()
    assert "listed 20" in done.stdout
    back = tmp_path / "files-back"
    for path in folder.iterdir():
        assert digest(back / path.name) == digest(path)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
