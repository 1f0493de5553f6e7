"""Finds the addresses on which a task's port answers, and whether strangers can reach them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from moxing.doctor import interfaces
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.doctor.interfaces import Address

_WHAT = "exposure"
_SECONDS = 1.0  # The machine's own address answers at once, unless a firewall is in between.
_AT_ONCE = 16
_SHOWN = 6


def finding(port: int) -> Finding:
    """Connects to a port from this machine, through each of its addresses.

    TensorFlow's server will listen on all addresses, whatever listens there now.
    """
    try:
        addresses = interfaces.own()
    except OSError as error:
        return Finding(
            NOTE,
            _WHAT,
            f"port {port} will be open on every network of this machine, without a password: let"
            f" only the job's machines reach it. Its addresses can't be listed here ({error})",
        )
    others = [address for address in addresses if not address.ip.is_loopback]
    if not others:
        return Finding(GOOD, _WHAT, f"nobody else reaches port {port}: there is only loopback")
    answering = _answering(addresses, port)
    open_now = [address for address in others if address in answering]
    public = [address for address in others if address.is_public]
    text = _state(port, others, open_now, bool(answering))
    if public:
        return Finding(
            BAD,
            _WHAT,
            f"{text}. Everybody may reach {_listed(public)}: close the port there in the firewall,"
            " or start the tasks of one machine by mox launch, which gives them a network of their"
            " own.",
        )
    return Finding(NOTE, _WHAT, f"{text}. Let only the job's machines reach it")


def _state(port: int, others: Sequence[Address], open_now: Sequence[Address], listens: bool) -> str:
    if not listens:
        return (
            f"nothing listens on port {port} now; TensorFlow's server will, without a password, on"
            f" {_listed(others)}"
        )
    closed = [address for address in others if address not in open_now]
    text = f"port {port} answers now on {_listed(open_now) or 'loopback only'}"
    if not closed:
        return f"{text}, without a password if that is TensorFlow's server"
    return f"{text}, not on {_listed(closed)}; TensorFlow's server listens there too"


def _answering(addresses: Sequence[Address], port: int) -> set[Address]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda address: _answers(address, port), addresses)
        return {address for address, yes in zip(addresses, answers, strict=True) if yes}


def _answers(address: Address, port: int) -> bool:
    with contextlib.suppress(OSError), socket.socket(address.family) as probe:
        probe.settimeout(_SECONDS)
        return probe.connect_ex(address.at(port)) == 0
    return False


def _listed(addresses: Sequence[Address]) -> str:
    more = len(addresses) - _SHOWN
    shown = ", ".join(map(str, addresses[:_SHOWN]))
    return shown + (f" and {more} more" if more > 0 else "")
