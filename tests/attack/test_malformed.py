"""Thousands of malformed inputs end with a sentence, and harm nothing beside their folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ATTEMPT = Path(__file__).with_name("attempt.py")


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    # Of the second kind each takes a second or more; run without --every, it takes half an hour.
    ("kind", "every", "least"),
    [("plain", 1, 2500), ("tensorflow", 7, 90)],
)
def test_each_ends_with_a_sentence(kind: str, every: int, least: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ATTEMPT), kind, str(tmp_path), f"--every={every}"],
        capture_output=True,
        text=True,
        timeout=2900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *faults, counted = map(json.loads, done.stdout.splitlines())
    assert faults == []
    assert counted["inputs"] >= least
