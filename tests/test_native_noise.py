"""Noise goes, everything else stays, byte for byte and in order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NOISE = (
    "WARNING: All log messages before absl::InitializeLog() is called\nI0000 00:00:1 a.cc:1] x\n"
)
PROGRAM = f"""
import os, sys
from moxing import native_noise
with native_noise.dropped():
    os.write(2, {NOISE!r}.encode())
    os.write(2, b"E0000 00:00:1 out of memory\\n")
    print("from Python", file=sys.stderr)
    if len(sys.argv) > 1:
        raise ValueError("inside")
os.write(2, b"after\\n")
"""


def run(*arguments: str, debug: str = "") -> str:
    environment = {**os.environ, "MOX_DEBUG": debug}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    return done.stderr


def test_only_noise_is_dropped() -> None:
    assert run() == "E0000 00:00:1 out of memory\nfrom Python\nafter\n"


def test_an_error_inside_loses_nothing() -> None:
    shown = run("fail")
    assert shown.startswith("E0000 00:00:1 out of memory\nfrom Python\n")
    assert shown.endswith("ValueError: inside\n")


@pytest.mark.parametrize("debug", ["1"])
def test_debugging_shows_all(debug: str) -> None:
    assert NOISE in run(debug=debug)
