"""A process that has a network of its own, which others then join.

Its user can leave no network that it has entered, so what needs both networks is tried on this
process first. Later it leads to the services that listen on the machine's own loopback interface,
such as a store or a proxy: under the same ports, as if they were in this network.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Collection
from typing import NoReturn

from moxing.cluster.rendezvous.ports import listeners
from moxing.errors import MoxError, MoxNotSupportedError
from moxing.launch.isolation.namespace import isolate
from moxing.launch.lifeline import die_with
from moxing.launch.private import forwarder
from moxing.launch.private.forwarder import Target

_READY, _LEAD = b"ready\n", b"lead\n"
_LONGEST = 4096
_MOST = 512  # Ports: each needs an open file.
# Addresses of listeners that loopback reaches, as the kernel lists them.
_REACHED = ("0.0.0.0", "127.0.0.1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1")


class Holder:
    """A child of this process, which must have one thread, in a new network.

    Attributes:
        pid: the child's number.

    Raises:
        MoxNotSupportedError: the kernel, or the container, allows no such network.
    """

    def __init__(self, option: str) -> None:
        self._link, theirs = socket.socketpair()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._link.close()
            _hold(theirs, parent, option)
        theirs.close()
        said = _heard(self._link)
        if said != _READY:
            self.close()
            raise MoxNotSupportedError(said.decode(errors="replace").strip())

    def lead(self, gateway: str, reserved: Collection[int]) -> None:
        """Lets the child lead to the machine's loopback, once there is a way out.

        Args:
            gateway: the address that stands for the machine's loopback in the new network.
            reserved: ports that the child leaves alone.
        """
        words = [gateway, *map(str, reserved)]
        self._link.sendall(" ".join(words).encode() + b"\n")
        _heard(self._link)

    def close(self) -> None:
        """Ends the child."""
        self._link.close()
        os.waitpid(self.pid, 0)


def _hold(link: socket.socket, parent: int, option: str) -> NoReturn:
    """Is the child; never returns."""
    try:
        os.setsid()  # Ctrl-C is for the tasks, which may have to save through this network.
        die_with(parent)()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1):
            os.dup2(nothing, descriptor)
        ports = sorted({port for _, address, port in listeners() if address in _REACHED})
        try:
            isolate(option)
        except (MoxError, OSError) as error:
            link.sendall(str(error).encode()[:_LONGEST])
            os._exit(1)
        link.sendall(_READY)
        if words := _heard(link).decode().split():
            ways: dict[socket.socket, Target] = {}
            for port in [port for port in ports if str(port) not in words[1:]][:_MOST]:
                with contextlib.suppress(OSError):  # No file is free, or the port is.
                    ways[forwarder.listener(("0.0.0.0", port))] = (words[0], port)
            if ways:
                forwarder.start(ways)
            link.sendall(_LEAD)
            link.recv(1)  # Until the parent closes its end.
    finally:
        os._exit(0)


def _heard(link: socket.socket) -> bytes:
    """Returns a line, or all that comes before the other end is closed."""
    data = b""
    while not data.endswith(b"\n") and (part := link.recv(_LONGEST)):
        data += part
    return data
