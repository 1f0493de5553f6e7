"""A real Chromium, on a network of this machine alone, for as long as a command runs.

    python tools/chromium.py [--install] [--limit=SECONDS] [--optional] COMMAND [ARGUMENT ...]

The tests of tests/browser start it themselves. That the command reaches no network shows that pages
load nothing from elsewhere. tools/fence.py says what the options mean and what is returned.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fence
from fence import run

PROGRAMS = {
    "chromium": "chromium",
    "chromedriver": "chromium-driver",
    "fc-match": "fontconfig",
    "ip": "iproute2",
}


def bring_up(folder: Path) -> dict[str, str]:
    """Gives the browser its loopback and a home of its own; returns the environment for them."""
    run("ip", "link", "set", "lo", "up")
    return {"HOME": str(folder), "MOX_BROWSER": run("chromium", "--version")}


if __name__ == "__main__":
    world = fence.World("Chromium", PROGRAMS, bring_up)
    sys.exit(fence.main(world, __doc__, sys.argv[1:]))
