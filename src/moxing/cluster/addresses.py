"""Parses `host:port` texts, and tells whether a host is this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from moxing.errors import MoxValueError, shown

LONGEST_HOST = 255  # Characters; names of DNS have no more (RFC 1035).
_PORT_DIGITS = 5
_MOST_NAMED = 20  # Addresses that one message lists.


def split(address: str, where: str = "") -> tuple[str, int]:
    """Returns the host and the port of `host:port` (`[::1]:2222` for IPv6).

    Raises:
        MoxValueError: the text is not an address; the message begins with `where`.
    """
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    digits = port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS
    legal = digits and 0 < int(port) < 65536 and len(host) <= LONGEST_HOST
    if not colon or not host or not legal or not host.isprintable() or " " in host:
        raise MoxValueError(
            f"{where or 'An address'}: {shown(address)} is not host:port, such as 10.0.0.1:2222."
        )
    return host, int(port)


def listed(text: str, where: str) -> tuple[str, ...]:
    """Returns the addresses of a comma-separated list, without empty parts."""
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in parts:
        split(part, where)
    return parts


def named_in(addresses: Sequence[str]) -> str:
    """Lists addresses for a message: all, or the first of very many."""
    more = len(addresses) - _MOST_NAMED
    return ",".join(addresses[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def is_here(host: str) -> bool | None:
    """Whether a host is an address of this machine; None if its name can't be resolved."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return any(_can_bind(family, target) for family, _, _, _, target in found)


def is_literal(host: str) -> bool:
    """Whether a host is written as an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _can_bind(family: int, target: tuple) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((target[0], 0, *target[2:]))
        except OSError:
            return False
    return True
