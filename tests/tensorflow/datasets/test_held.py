"""Copies of data sets stay for as long as a process of the machine uses them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm

# What the reader of a set in a store does, in a process of its own, which ends when it is told.
USER = """\
import pathlib, sys, time
from moxing.tensorflow.datasets import storage
print(storage.local_copy("s3://bucket/records", None, True), flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
"""


@pytest.fixture
def users(store: Path, tmp_path: Path) -> Iterator[dict[Path, warm.Popen]]:
    """Two of them, each by the file that ends it."""
    (store / "bucket" / "records").mkdir()
    (store / "bucket" / "records" / "a.tfrecord").write_bytes(b"data")
    (tmp_path / "user.py").write_text(USER)
    started = {}
    for end in (tmp_path / "end-0", tmp_path / "end-1"):
        command = [sys.executable, tmp_path / "user.py", end]
        started[end] = warm.Popen(command, stdout=subprocess.PIPE, text=True)
    yield started
    for user in started.values():
        user.kill()


def test_the_last_process_removes_the_copy(users: dict[Path, warm.Popen]) -> None:
    folders = []
    for user in users.values():
        assert user.stdout is not None
        folders.append(Path(user.stdout.readline().strip()))
    assert folders[0] == folders[1]
    for end, user in users.items():
        assert (folders[0] / "a.tfrecord").read_bytes() == b"data"
        end.touch()
        assert user.wait(240) == 0
    assert not folders[0].exists()
