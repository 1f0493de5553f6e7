"""Whether networks of this machine can have a way out by the real slirp4netns."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest

ENTER = "from moxing.launch.isolation import way_out; way_out.enter('--isolate').close()"


@functools.cache
def problem() -> str:
    """Why there is no way out; "" if there is."""
    done = subprocess.run(
        [sys.executable, "-c", ENTER], capture_output=True, text=True, timeout=240, check=False
    )
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


@pytest.fixture
def _leads_out() -> None:
    """Skips where no network can have a way out."""
    if problem():
        pytest.skip(problem())
