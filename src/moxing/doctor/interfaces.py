"""The addresses of this machine, IPv4 and IPv6, as the kernel lists them over netlink."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Numbers and layouts of linux/netlink.h, linux/rtnetlink.h and linux/if_addr.h.
_HEADER, _ADDRESS, _ATTRIBUTE = (
    struct.Struct("=IHHII"),
    struct.Struct("=BBBBI"),
    struct.Struct("=HH"),
)
_GET, _NEW, _ERROR, _DONE = 22, 20, 2, 3
_REQUEST_DUMP = 0x1 | 0x300
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_SECONDS = 5.0


@dataclass(frozen=True)
class Address:
    """An address and the network interface that has it.

    Attributes:
        ip: the address.
        index: the interface's number, which a link-local address needs.
    """

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    index: int

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET if self.ip.version == 4 else socket.AF_INET6

    @property
    def is_public(self) -> bool:
        """Whether the address is a public one, which the whole internet may reach."""
        return self.ip.is_global

    def at(self, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
        """Returns the socket address to connect to."""
        if self.ip.version == 4:
            return str(self.ip), port
        return str(self.ip), port, 0, self.index if self.ip.is_link_local else 0

    def __str__(self) -> str:
        return str(self.ip)


def own() -> list[Address]:
    """All addresses of this machine (of this network namespace), loopback included.

    Raises:
        OSError: the kernel, or a sandbox around this process, does not list them.
    """
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError("no netlink here")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(_SECONDS)
        body = _ADDRESS.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        link.send(_HEADER.pack(_HEADER.size + len(body), _GET, _REQUEST_DUMP, 1, 0) + body)
        found: dict[Address, None] = {}
        while True:
            for kind, message in _messages(link.recv(1 << 16)):
                if kind == _DONE:
                    return list(found)
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", message)[0], "netlink")
                address = _address(message) if kind == _NEW else None
                if address is not None:
                    found[address] = None


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            return
        yield kind, data[_HEADER.size : length]
        data = data[_padded(length) :]


def _address(message: bytes) -> Address | None:
    family, _, _, _, index = _ADDRESS.unpack_from(message)
    if family not in (socket.AF_INET, socket.AF_INET6):
        return None
    attributes = dict(_attributes(message[_ADDRESS.size :]))
    # On a point-to-point link, IFA_ADDRESS is the other end's address.
    raw = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
    return Address(ipaddress.ip_address(raw), index) if raw else None


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : length]
        data = data[_padded(length) :]


def _padded(length: int) -> int:
    return (length + 3) // 4 * 4
