from __future__ import annotations

import os
import socket
import sys

import pytest

from moxing.cluster.addresses import is_here, split
from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous.ports import _address, holder, is_free, take
from moxing.errors import MoxRuntimeError, MoxValueError


def test_holder_is_the_listening_process():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert holder(port).startswith(f"process {os.getpid()} (")
    assert holder(port) == ""


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_port_with_a_listener_on_one_address_is_not_free(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {address}")
    with server:
        assert not is_free(server.getsockname()[1])


def test_a_port_with_a_listener_on_all_interfaces_is_taken():
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(MoxRuntimeError) as caught:
            take(Cluster((f"127.0.0.1:{port}", "127.0.0.1:9")))
    assert str(caught.value).startswith(
        f"worker 0 (127.0.0.1:{port}): port {port} of this machine ({socket.gethostname()}) is"
        f" taken by process {os.getpid()} ("
    )


@pytest.mark.parametrize("listed", [True, False])
def test_a_port_with_a_listener_on_another_address_of_this_machine_is_taken(listed):
    """TensorFlow's server could not start then: it listens on all of them."""
    with socket.create_server(("127.0.0.2", 0)) as server:
        port = server.getsockname()[1]
        other = f"127.0.0.2:{port}" if listed else "192.0.2.7:9"
        with pytest.raises(MoxRuntimeError) as caught:
            take(Cluster((f"127.0.0.1:{port}", other)))
    text = str(caught.value)
    assert text.startswith(
        f"worker 0 (127.0.0.1:{port}): port {port} of this machine ({socket.gethostname()}) is"
        f" taken by process {os.getpid()} ("
    )
    assert "), on its address 127.0.0.2; TensorFlow's server needs the port on all" in text
    assert text.endswith(
        f"That address is worker 1 (127.0.0.2:{port}): two names of the list are one machine. Give"
        " each task of a machine a port of its own."
        if listed
        else "Stop that program, or list another port."
    )
    with socket.create_server(("127.0.0.1", port)):
        pass  # It has let go of its own.


@pytest.mark.parametrize(
    ("digits", "address"),
    [("0100007F", "127.0.0.1"), ("00000000000000000000000001000000", "::1")],
)
@pytest.mark.skipif(sys.byteorder != "little", reason="as a little-endian kernel prints it")
def test_addresses_of_the_kernel(digits, address):
    assert _address(digits) == address


def test_open_connections_leave_the_port_to_the_next_listener():
    """As TensorFlow's server takes the chief's port while the control connections are open."""
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
    listener = take(Cluster((f"127.0.0.1:{port}", "127.0.0.1:9")))
    with socket.create_connection(("127.0.0.1", port)) as client:
        connection, _ = listener.accept()
        listener.close()
        with connection, socket.create_server(("", port)):
            client.sendall(b"still here")
            assert connection.recv(100) == b"still here"


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a:1", ("a", 1)), ("10.0.0.1:65535", ("10.0.0.1", 65535)), ("[::1]:22", ("::1", 22))],
)
def test_addresses(text, parts):
    assert split(text) == parts


@pytest.mark.parametrize("text", ["", "a", ":1", "a:", "a:0", "a:65536", "::1:22", "a b:1", "a:1x"])
def test_what_is_no_address(text):
    with pytest.raises(MoxValueError) as caught:
        split(text, "worker_hosts")
    assert str(caught.value) == f"worker_hosts: {text!r} is not host:port, such as 10.0.0.1:2222."


def test_is_here():
    assert is_here("127.0.0.1") is True
    assert is_here("192.0.2.7") is False  # For documentation only (RFC 5737).
    assert is_here("no-such-host.invalid") is None
