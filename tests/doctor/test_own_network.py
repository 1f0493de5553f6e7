"""What `mox doctor` says of the network that jobs on this machine get."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moxing.doctor import own_network
from moxing.doctor.finding import GOOD, NOTE
from moxing.launch.private.inside import probe

# A slirp4netns that says that it is up, and leads nowhere.
READY = 'for word in "$@"; do case $word in --ready-fd=*) eval "echo 1 >&${word#*=}"; esac; done\n'


def engine(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    path = folder / "slirp4netns"
    path.write_text(f"#!/bin/bash\n{lines}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_jobs_have_one_that_leads_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := probe():
        pytest.skip(problem)
    engine(tmp_path, monkeypatch, f"{READY}exec sleep 100\n")
    found = own_network.finding()
    assert found.verdict == GOOD, found
    assert "nobody else reaches the ports" in found.text
    assert "With --no-isolate whoever reaches the machine reaches them" in found.text


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (None, "as slirp4netns is not installed. "),
        ("echo 'open(/dev/net/tun): Permission denied'; exit 1", "tun): Permission denied. "),
    ],
)
def test_why_jobs_have_none(
    lines: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lines is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    elif problem := probe():
        pytest.skip(problem)
    else:
        engine(tmp_path, monkeypatch, lines)
    found = own_network.finding()
    assert found.verdict == NOTE
    assert why in found.text
    assert "whoever reaches the machine reaches their ports" in found.text


def test_a_trial_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_network, "_SECONDS", 0.3)
    monkeypatch.setattr(own_network, "_TRY", "import time; time.sleep(100)")
    assert "as no answer in 0.3 s." in own_network.finding().text
