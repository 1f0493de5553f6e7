"""Says which network `mox launch` gives to a job of several tasks on this machine."""

from __future__ import annotations

import subprocess
import sys

from moxing.doctor.finding import GOOD, NOTE, Finding

_WHAT = "own network"
_SECONDS = 30.0
# A process that has entered a network can't leave it, so another one tries.
_TRY = """
import sys
from moxing.errors import MoxError
from moxing.launch.isolation import way_out
try:
    way_out.enter("--isolate").close()
except MoxError as error:
    sys.exit(str(error))
"""


def finding() -> Finding:
    """Makes a network with a way out, as `mox launch --workers=2` does by default."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TRY], capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        why = f"no answer in {_SECONDS:g} s"
    else:
        lines = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
        why = lines[-1].removeprefix("--isolate: ").rstrip(".") if done.returncode else ""
    if why:
        return Finding(
            NOTE,
            _WHAT,
            "none for jobs of mox launch on this machine: whoever reaches the machine reaches"
            f" their ports, as {why}. Where the kernel allows it, --isolate makes a network"
            " without a way out",
        )
    return Finding(
        GOOD,
        _WHAT,
        "nobody else reaches the ports of jobs of mox launch on this machine, and the jobs reach"
        " others through slirp4netns. With --no-isolate whoever reaches the machine reaches them",
    )
