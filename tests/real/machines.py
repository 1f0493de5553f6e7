"""The two machines, as tests use them, and how to wait for what happens on them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

# A test itself may connect to no other machine.
SCAN = """
import socket, sys
for port in range(1, 65536):
    with socket.socket() as client:
        client.settimeout(5)
        if client.connect_ex((sys.argv[1], port)) == 0:
            print(port)
"""


ASK = """
import socket, sys
with socket.socket() as client:
    client.settimeout(2)
    print(client.connect_ex((sys.argv[1], int(sys.argv[2]))) == 0)
"""


def until(condition: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Waits for a condition to hold; fails with what was waited for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)


@dataclass(frozen=True)
class Host:
    """A machine.

    Attributes:
        name: which the other one knows it by.
        address: on their network.
        pid: a process in its namespaces.
    """

    name: str
    address: str
    pid: int

    def inside(self, *command: str) -> list[str]:
        """A command that runs on this machine."""
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-m", "--", *command]

    def run(self, *command: str) -> str:
        """What a command prints that runs there for a moment."""
        done = subprocess.run(
            self.inside(*command), capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    def unplug(self) -> None:
        """Nothing comes or goes through its network any more."""
        subprocess.run(["ip", "link", "set", f"to-{self.name}", "down"], check=True)

    def plug_in(self) -> None:
        subprocess.run(["ip", "link", "set", f"to-{self.name}", "up"], check=True)


def answering(host: Host, asking: Host | None = None) -> set[int]:
    """All ports of a machine that answer another one; by default, the one that tests run on."""
    words = [sys.executable, "-c", SCAN, host.address]
    command = words if asking is None else asking.inside(*words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=True)
    return set(map(int, done.stdout.split()))


def answers(host: Host, port: int) -> bool:
    """Whether a port answers the machine that tests run on."""
    words = [sys.executable, "-c", ASK, host.address, str(port)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout == "True\n"
