"""Holds this task's port until all tasks are there; if the port is taken, says by which process."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from moxing.cluster.addresses import is_here, split
from moxing.cluster.cluster import Cluster, named
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.logs import TENSORFLOW

_BACKLOG = 1024


def take(cluster: Cluster) -> socket.socket:
    """Returns a listener on this task's own address.

    Raises:
        MoxRuntimeError: the port is taken, or the address belongs to another machine.
    """
    host, port = split(cluster.address)
    # The kernel's table of sockets lists all of the machine's, so it is read only if needed.
    look = not is_free(port) or _has_twin(cluster, port)
    try:
        listener = _listener(host, port)
        try:
            if look:
                _refuse_twin(cluster, port, listener)
        except BaseException:
            listener.close()
            raise
        return listener
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise MoxRuntimeError(_taken(cluster, port)) from None
        if error.errno == errno.EACCES:
            raise MoxRuntimeError(
                f"{named(cluster.task, cluster.address)}: this user may not listen on port {port}; "
                "choose one above 1023."
            ) from None
    _complain_if_elsewhere(cluster)
    # The host is behind address translation, or only other machines can resolve its name.
    TENSORFLOW.warning(
        "%s: %s is no address that this machine (%s) knows as its own; listening on all of them",
        *(cluster.task, host, socket.gethostname()),
    )
    try:
        return _listener("", port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise MoxRuntimeError(_taken(cluster, port)) from None
        raise MoxRuntimeError(f"Can't listen on {cluster.address}: {error.strerror}.") from None


def holder(port: int, inode: str = "") -> str:
    """Names the process that listens on a TCP port, as `process 123 (python train.py)`, or "".

    Args:
        port: the port, on any address.
        inode: the listener's inode; empty for any listener on that port.
    """
    inodes = {inode} if inode else set(_listening(port))
    for folder in Path("/proc").glob("[0-9]*") if inodes else ():
        if _sockets(folder) & inodes:
            return f"process {folder.name} ({_command(folder)})"
    return ""


def told(
    error: BaseException, tasks: Mapping[str, Any], job: str | None, index: int | None
) -> BaseException:
    """Returns an error that says who has a task's port, in place of that of TensorFlow's server.

    Args:
        error: TensorFlow's error, which names neither port nor machine. Another error, or one about
            a port that is free, is returned itself.
        tasks: the addresses of the cluster by job, as TF_CONFIG has them.
        job: the job of the task.
        index: the number of the task.
    """
    if "Could not start gRPC server" not in str(error):
        return error
    try:
        address = tasks[job or ""][index or 0]
        port = split(address)[1]
    except (KeyError, IndexError, TypeError, AttributeError, MoxValueError):
        return error
    if is_free(port):
        return error
    taken = MoxRuntimeError(
        f"{named(f'{job} {index or 0}', address)}: port {port} of this machine"
        f" ({socket.gethostname()}) is taken by {holder(port) or 'another program'}; TensorFlow's"
        " server needs the port on all addresses of the machine. Stop that program (it may be left"
        " from an earlier run, or be a second process with the same task index), or list another"
        " port."
    )
    taken.__cause__ = error
    return taken.with_traceback(error.__traceback__)


def is_free(port: int) -> bool:
    """Whether no process listens on a TCP port now, on any address of the machine."""
    for family, anywhere in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((anywhere, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
    return True


def listeners() -> Iterator[tuple[str, str, int]]:
    """Yields the inode, the address and the port of each listener of this machine's network."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            address, _, number = fields[1].rpartition(":")
            if fields[3] == "0A":
                yield fields[9], _address(address), int(number, 16)


def _sockets(folder: Path) -> set[str]:
    """The sockets of a process; none if it is another user's or has just ended."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in (folder / "fd").iterdir():
            with contextlib.suppress(OSError):  # The file was closed meanwhile.
                found.add(os.readlink(entry).removeprefix("socket:[").removesuffix("]"))
    return found


def _listener(host: str, port: int) -> socket.socket:
    family, _, _, _, target = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Allows a port whose last connections are still closing.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(target)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _complain_if_elsewhere(cluster: Cluster) -> None:
    host = split(cluster.address)[0]
    mine = {
        task: address
        for task, address in cluster.tasks.items()
        if split(address)[0] != host and is_here(split(address)[0])
    }
    if is_here(host) is not False or not mine:
        return
    others = ", ".join(named(task, address) for task, address in mine.items())
    raise MoxRuntimeError(
        f"This process is to be {named(cluster.task, cluster.address)}, by {cluster.source}, but "
        f"{host} is not an address of this machine ({socket.gethostname()}). The addresses of the "
        f"list that are: {others}. Check the task index."
    )


def _taken(cluster: Cluster, port: int) -> str:
    who = holder(port)
    return (
        f"{named(cluster.task, cluster.address)}: port {port} of this machine"
        f" ({socket.gethostname()}) is taken by {who or 'another program'}. Stop that program (it"
        " may be left from an earlier run, or be a second process with the same task index), or"
        " list another port."
    )


def _has_twin(cluster: Cluster, port: int) -> bool:
    """Whether the cluster lists another task with this port, which may take it right now."""
    end = f":{port}"
    return any(
        listed.endswith(end) and task != cluster.task for task, listed in cluster.tasks.items()
    )


def _refuse_twin(cluster: Cluster, port: int, own: socket.socket) -> None:
    """Raises if another process has the port on any address: TensorFlow's server needs them all."""
    mine = str(os.fstat(own.fileno()).st_ino)
    for inode, address in _listening(port).items():
        if inode == mine:
            continue
        who = holder(port, inode) or "another program"
        twin = [
            named(task, listed)
            for task, listed in cluster.tasks.items()
            if task != cluster.task and split(listed) == (address, port)
        ]
        text = (
            f"{named(cluster.task, cluster.address)}: port {port} of this machine"
            f" ({socket.gethostname()}) is taken by {who}, on its address {address}; TensorFlow's"
            " server needs the port on all addresses of the machine. "
        )
        if twin:
            raise MoxRuntimeError(
                f"{text}That address is {twin[0]}: two names of the list are one machine. Give each"
                " task of a machine a port of its own."
            )
        raise MoxRuntimeError(f"{text}Stop that program, or list another port.")


def _listening(port: int) -> dict[str, str]:
    """Returns the address of each listener on a TCP port, by its inode."""
    return {inode: address for inode, address, at in listeners() if at == port}


def _address(digits: str) -> str:
    """Reads an address as the kernel prints it: 32-bit words in the machine's byte order."""
    words = [
        int(digits[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(digits), 8)
    ]
    return str(ipaddress.ip_address(b"".join(words)))


def _command(folder: Path) -> str:
    try:
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "unknown"
    text = " ".join(word for word in words if word)
    return text if len(text) <= 100 else text[:97] + "..."
