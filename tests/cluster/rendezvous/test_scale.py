"""A thousand tasks meet, and a task with many files open is like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous.handshake import differences, hello
from moxing.cluster.wire import LONGEST_HELLO
from moxing.launch.ports import free_ports

MEETING = Path(__file__).parents[3] / "benchmarks" / "meeting.py"
# Descriptors above 1,023, which select() does not know, on both sides of everything.
MANY_FILES = """
import logging, os, resource, subprocess, sys, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = [open(os.devnull) for _ in range(1100)]
from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.launch.readable import has_data
def member(index):
    cluster = Cluster(tuple(sys.argv[1:]), index=index)
    with join(cluster, digest={}, timeout=60, stall_timeout=60) as me:
        me.barrier("start", 60)
        sys.stdout.write("met\\n")  # In one piece, beside that of the other thread.
threads = [threading.Thread(target=member, args=(index,)) for index in (0, 1)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
read, write = os.pipe()
print(read > 1023, has_data(read), os.write(write, b"x"), has_data(read))
"""


def test_a_process_with_many_open_files() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    done = subprocess.run(
        [sys.executable, "-c", MANY_FILES, *addresses],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == ["met", "met", "True False 1 True"], done.stderr


@pytest.mark.slow
def test_a_thousand_tasks_meet_stop_lose_one_and_end() -> None:
    done = subprocess.run(
        [sys.executable, str(MEETING), "--members", "1000", "--limit", "200"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # About a second each on an idle core; what is quadratic in the tasks takes far longer.
    for name in ("met", "barrier", "stop", "end", "death", "end after a death"):
        assert found[name] < 60, found


def test_a_long_list_of_tasks_fits_into_a_greeting_and_is_compared() -> None:
    names = [f"gpu-node-{i:05}.cluster.example.com:2222" for i in range(5000)]
    mine = hello(Cluster(tuple(names), index=0), {})
    assert len(json.dumps(mine)) < LONGEST_HELLO
    assert differences(mine, hello(Cluster(tuple(names), index=7), {})) == ""
    names[2500] = "another.example.com:2222"
    reason = differences(mine, hello(Cluster(tuple(names), index=7), {}))
    assert "the list of workers is gpu-node-00000.cluster.example.com:2222 ... " in reason
    assert "(5000 tasks, sha256 " in reason
