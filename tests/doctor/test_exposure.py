"""On which addresses `mox doctor --cluster` finds a port open."""

from __future__ import annotations

import errno
import ipaddress
import socket
import subprocess
import sys

import pytest

from moxing.doctor import exposure, interfaces
from moxing.doctor.finding import NOTE, Finding
from moxing.doctor.interfaces import Address

# A machine of the test's own: a network with nothing but loopback, which gets more addresses. Its
# port 4000 is open as the first word says. Nothing is sent anywhere.
MACHINE = """
import fcntl, socket, struct, sys, time
from moxing.doctor import exposure, interfaces
from moxing.errors import MoxNotSupportedError
from moxing.launch.isolation.namespace import isolate
try:
    isolate()
except MoxNotSupportedError as error:
    sys.exit(str(error))
where, *more = sys.argv[1:]
for number, address in enumerate(more):
    if ":" in address:
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
                raw = socket.inet_pton(socket.AF_INET6, address)
                fcntl.ioctl(control, 0x8916, raw + struct.pack("=Ii", 128, 1))
        except OSError as error:
            sys.exit(f"no IPv6: {error}")
        until = time.monotonic() + 30
        while True:  # The kernel takes a moment to give a new address free.
            try:
                socket.create_server((address, 0), family=socket.AF_INET6).close()
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.01)
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            name, raw = f"lo:{number}".encode(), socket.inet_aton(address)
            fcntl.ioctl(control, 0x8916, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, raw))
if where == "all":
    server = socket.create_server(("::", 4000), family=socket.AF_INET6, dualstack_ipv6=True)
elif where:
    server = socket.create_server((where, 4000))
print(exposure.finding(4000))
"""


def said(where: str, *more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MACHINE, where, *more],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if done.returncode and ("no network namespace" in done.stderr or "no IPv6" in done.stderr):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("where", "addresses", "text"),
    [
        ("all", (), "ok    exposure: nobody else reaches port 4000: there is only loopback\n"),
        (
            "all",
            ("10.77.0.1", "fd00:77::1"),
            "note  exposure: port 4000 answers now on 10.77.0.1, fd00:77::1, without a password if"
            " that is TensorFlow's server. Let only the job's machines reach it\n",
        ),
        (
            "10.77.0.1",
            ("10.77.0.1", "10.77.0.2"),
            "note  exposure: port 4000 answers now on 10.77.0.1, not on 10.77.0.2; TensorFlow's"
            " server listens there too. Let only the job's machines reach it\n",
        ),
        (
            "127.0.0.1",
            ("10.77.0.1",),
            "note  exposure: port 4000 answers now on loopback only, not on 10.77.0.1;"
            " TensorFlow's server listens there too. Let only the job's machines reach it\n",
        ),
        (
            "all",
            ("10.77.0.1", "2001:4860::77"),
            "BAD   exposure: port 4000 answers now on 10.77.0.1, 2001:4860::77, without a password"
            " if that is TensorFlow's server. Everybody may reach 2001:4860::77: close the port"
            " there in the firewall, or start the tasks of one machine by mox launch, which gives"
            " them a network of their own.\n",
        ),
        (
            "",
            ("8.8.8.8",),
            "BAD   exposure: nothing listens on port 4000 now; TensorFlow's server will, without a"
            " password, on 8.8.8.8. Everybody may reach 8.8.8.8: close the port there in the"
            " firewall, or start the tasks of one machine by mox launch, which gives them a network"
            " of their own.\n",
        ),
    ],
)
def test_where_a_port_answers(where: str, addresses: tuple[str, ...], text: str) -> None:
    assert said(where, *addresses) == text


def test_the_addresses_of_this_machine() -> None:
    found = interfaces.own()
    assert Address(ipaddress.ip_address("127.0.0.1"), socket.if_nametoindex("lo")) in found
    # An IPv6 address that the kernel still asks its neighbors about can't be used yet.
    assert {bound(address) for address in found if address.ip.version == 4} == {0}
    assert {bound(address) for address in found} <= {0, errno.EADDRNOTAVAIL}


def bound(address: Address) -> int:
    """0, or why a socket can't have an address, as only an own one can be."""
    with socket.socket(address.family) as own:
        try:
            own.bind(address.at(0))
        except OSError as error:
            return error.errno or -1
    return 0


def test_where_a_link_local_address_is_said_is_its_interface() -> None:
    address = Address(ipaddress.ip_address("fe80::1"), 4)
    assert address.at(7) == ("fe80::1", 7, 0, 4)
    assert Address(ipaddress.ip_address("fd00::1"), 4).at(7) == ("fd00::1", 7, 0, 0)
    assert Address(ipaddress.ip_address("10.0.0.1"), 4).at(7) == ("10.0.0.1", 7)


def test_a_sandbox_that_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> list[Address]:
        raise OSError("not permitted")

    monkeypatch.setattr(interfaces, "own", refuse)
    assert exposure.finding(4000) == Finding(
        NOTE,
        "exposure",
        "port 4000 will be open on every network of this machine, without a password: let only the"
        " job's machines reach it. Its addresses can't be listed here (not permitted)",
    )


def test_only_some_of_many_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Address(ipaddress.ip_address(f"10.0.0.{n}"), 2) for n in range(1, 9)]
    monkeypatch.setattr(interfaces, "own", lambda: many)
    monkeypatch.setattr(exposure, "_answers", lambda address, port: False)
    found = exposure.finding(4000)
    assert found.verdict == NOTE
    assert "10.0.0.6 and 2 more. Let" in found.text
