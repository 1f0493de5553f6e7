"""Makes the cluster from `flow.config.machine`: all addresses, and this machine's number."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from moxing.cluster import proxy, secret
from moxing.cluster.addresses import is_here, split
from moxing.cluster.cluster import Cluster
from moxing.errors import MoxRuntimeError, MoxValueError, shown

PORT = 2017  # The default of `ctrl_port`.
VARIABLE = "MOX_MACHINE"
_DIGITS = 18
_SOURCE = "flow.config.machine"

# Sockets by which this process claims its number on this host; freed when it ends.
_claims: list[socket.socket] = []


def cluster(values: Mapping[str, Any]) -> Cluster | None:
    """Returns a cluster in which machine n is worker n; None if there is one machine.

    Args:
        values: the session's settings.

    Raises:
        MoxValueError: an address is not valid or there twice, no address is this machine's, or the
            job's secret is not valid.
        MoxRuntimeError: other processes have claimed all addresses of this machine.
    """
    given = values.get("machine", [])
    number = values.get("machine_num", len(given) or 1)
    if number != max(len(given), 1):
        raise MoxValueError(
            f"flow.config.machine_num({number}), but flow.config.machine names {len(given)}. Give"
            " both the same number, or leave machine_num out."
        )
    if len(given) < 2:
        return None
    addresses = [_address(host, port, values) for host, port in given]
    twice = sorted({a for a in addresses if addresses.count(a) > 1})
    if twice:
        raise MoxValueError(
            f"flow.config.machine names {', '.join(twice)} twice. Machines on one host need a port"
            ' each: ["127.0.0.1:2017", "127.0.0.1:2018"].'
        )
    found = Cluster(
        tuple(addresses),
        index=_index(addresses),
        source=_SOURCE,
        secret=secret.read(os.environ),
    )
    proxy.refuse(found, os.environ)
    return found


def _address(host: str, port: int | None, values: Mapping[str, Any]) -> str:
    own = port if port is not None else values.get("ctrl_port", PORT)
    if ":" in host and not _is_ipv6(host):
        raise MoxValueError(
            f"{_SOURCE} names {shown(host)}, which is no address, such as 10.0.0.1, 10.0.0.1:2017"
            " or [fe80::1]:2017."
        )
    address = f"[{host}]:{own}" if ":" in host else f"{host}:{own}"
    split(address, _SOURCE)
    return address


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _index(addresses: list[str]) -> int:
    if VARIABLE in os.environ:
        return _told(os.environ[VARIABLE], len(addresses))
    here = [i for i, address in enumerate(addresses) if is_here(split(address)[0])]
    if not here:
        raise MoxValueError(
            f"none of the addresses of flow.config.machine ({', '.join(addresses)}) is of this"
            f" machine ({socket.gethostname()}). Correct the list, or say which of them this is:"
            f" {VARIABLE}=0 is the first."
        )
    if len(here) == 1:
        return here[0]
    for index in here:
        if _claim(addresses[index]):
            return index
    raise MoxRuntimeError(
        f"{len(here)} of the machines of flow.config.machine are this one"
        f" ({', '.join(addresses[i] for i in here)}), and a process of each runs already."
    )


def _told(text: str, count: int) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) < count:
        return int(text)
    raise MoxValueError(
        f"{VARIABLE}={shown(text, plain=True)} names no machine: flow.config.machine has 0 to"
        f" {count - 1}."
    )


def _claim(address: str) -> bool:
    """Claims the number of an address, unless another process of this host has it."""
    if sys.platform != "linux":
        raise MoxRuntimeError(
            "several machines of flow.config.machine are this one: say with"
            f" {VARIABLE}=0, 1, ... which of them each process is."
        )
    holder: Any = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(f"\0openmox machine {address}")
    except OSError:
        holder.close()
        return False
    _claims.append(holder)
    return True
