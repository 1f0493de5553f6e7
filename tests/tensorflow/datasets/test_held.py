"""Copies of data sets stay for as long as a process of the machine uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# What the reader of a set in a store does, in a process of its own, which ends with its input.
USER = """\
import sys
from moxing.tensorflow.datasets import storage
print(storage.local_copy("s3://bucket/records", None, sys.argv[1] == "remove"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def users(store: Path) -> list[subprocess.Popen[str]]:
    (store / "bucket" / "records").mkdir()
    (store / "bucket" / "records" / "a.tfrecord").write_bytes(b"data")
    return [
        subprocess.Popen(
            [sys.executable, "-c", USER, "remove"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip


@pytest.mark.slow
def test_the_last_process_removes_the_copy(users: list[subprocess.Popen[str]]) -> None:
    folders = []
    for user in users:
        assert user.stdout is not None
        folders.append(Path(user.stdout.readline().strip()))
    assert folders[0] == folders[1]
    for user in users:
        assert (folders[0] / "a.tfrecord").read_bytes() == b"data"
        user.communicate(timeout=240)
        assert user.returncode == 0
    assert not folders[0].exists()
