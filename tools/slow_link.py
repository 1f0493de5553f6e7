"""A slow link between two machines of tools/two_hosts.py, for as long as this program runs.

    python tools/slow_link.py --delay=0.05 --loss=0.01 PID=ADDRESS PID=ADDRESS

Each machine, named by a process in its namespaces and by its address, gets a TUN device, which all
its packets to the other machine go to. This program carries packets between the two devices: each
packet late by --delay seconds, and with the probability --loss not at all. (The kernel's own netem
is a module that many machines lack.) Says `ready` once the way is there. Needs root.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time
from dataclasses import dataclass

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000
_NAME = b"slow0"
_LARGEST = 1 << 16
_QUEUE = 1000  # Packets under way in one direction; more are lost, as in a router.


@dataclass(frozen=True)
class End:
    """One end of the link: a machine, and the device in its network."""

    pid: int
    address: str
    device: int


def opened(pid: int, address: str) -> End:
    """Makes the device in a machine's network; this process stays in its own."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    theirs = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    enter(theirs)
    # The device is made in the network in which this file is opened.
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", _NAME, _IFF_TUN | _IFF_NO_PI))
    enter(own)
    for place in (own, theirs):
        os.close(place)
    return End(pid, address, device)


def enter(network: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(network, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def lead(end: End, other: End) -> None:
    """Has a machine send what is for the other one through its device."""
    name = _NAME.decode()
    inside = ["nsenter", "-t", str(end.pid), "-n", "ip"]
    route = ["route", "add", f"{other.address}/32", "dev", name, "src", end.address]
    for words in (["link", "set", name, "up"], route):
        subprocess.run([*inside, *words], check=True)


def carry(ends: tuple[End, End], delay: float, loss: float) -> None:
    """Carries packets until this program is killed."""
    chance = random.Random(1)
    under_way: list[tuple[float, int, int, bytes]] = []  # When, a number, the device, the packet.
    waiting = {end.device: 0 for end in ends}
    others = {ends[0].device: ends[1].device, ends[1].device: ends[0].device}
    number = 0
    while True:
        limit = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for device in select.select(list(others), [], [], limit)[0]:
            packet = os.read(device, _LARGEST)
            if chance.random() >= loss and waiting[device] < _QUEUE:
                number += 1
                waiting[device] += 1
                heapq.heappush(under_way, (time.monotonic() + delay, number, device, packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(under_way)
            waiting[device] -= 1
            try:
                os.write(others[device], packet)
            except OSError as error:  # The other end's queue is full, or the device is down.
                print(f"lost a packet: {error}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("ends", nargs=2, metavar="PID=ADDRESS")
    given = parser.parse_args()
    parts = [end.split("=") for end in given.ends]
    first, second = (opened(int(pid), address) for pid, address in parts)
    lead(first, second)
    lead(second, first)
    print("ready", flush=True)
    carry((first, second), given.delay, given.loss)


if __name__ == "__main__":
    main()
