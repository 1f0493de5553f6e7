"""Ports of a launch: free, and chosen by nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from moxing.errors import MoxRuntimeError
from moxing.launch import ports

_OTHER = """
import sys
from moxing.launch import ports
ports._PORTS = range(int(sys.argv[1]), int(sys.argv[2]))
print(*ports.free_ports(int(sys.argv[3])), flush=True)
sys.stdin.read()
"""


def _other(among: range, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _OTHER, str(among.start), str(among.stop), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_never_choose_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    among = range(23100, 23120)
    monkeypatch.setattr(ports, "_PORTS", among)
    with _other(among, 10) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        theirs = set(map(int, other.stdout.readline().split()))
        left = len(among) - len(theirs)

        with pytest.raises(MoxRuntimeError, match=f"{left + 1} ports are needed, but only"):
            ports.free_ports(left + 1)
        other.stdin.close()
        other.wait(30)

    # The other process ended, and its ports are free again.
    assert theirs & set(ports.free_ports(left + 1))


def test_a_machine_without_a_place_for_locks_still_has_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports._locks.cache_clear()
    monkeypatch.setattr(ports.tempfile, "gettempdir", lambda: "/proc/none")
    try:
        assert len(set(ports.free_ports(3))) == 3
    finally:
        ports._locks.cache_clear()
