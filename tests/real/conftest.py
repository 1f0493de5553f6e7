"""The two machines of tools/two_hosts.py, as `make test-real` starts them; without them no test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machines import Host  # noqa: E402

WORLD = os.environ.get("MOX_TWO_HOSTS", "")
collect_ignore_glob = [] if WORLD else ["test_*.py"]


@pytest.fixture(scope="session")
def world() -> dict:
    """What tools/two_hosts.py tells of the machines."""
    return json.loads(Path(WORLD).read_text())


@pytest.fixture
def hosts(world: dict) -> Iterator[tuple[Host, Host]]:
    """Both machines, with their network up, also after the test."""
    first, second = (Host(name, **facts) for name, facts in world["hosts"].items())
    yield first, second
    for host in (first, second):
        host.plug_in()
        for command in (["nft", "flush", "ruleset"], ["tc", "qdisc", "del", "dev", "eth0", "root"]):
            subprocess.run(host.inside(*command), capture_output=True, check=False)
