"""One task's end of a private network: its own namespace, and the ways in and out of it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from moxing.cluster.addresses import split
from moxing.cluster.rendezvous.meeting import OWN_NETWORK
from moxing.errors import MoxNotSupportedError, MoxRuntimeError
from moxing.launch.isolation import way_out
from moxing.launch.isolation.namespace import isolate
from moxing.launch.isolation.way_out import WayOut
from moxing.launch.private import forwarder
from moxing.launch.private.forwarder import Target

OPTION = "--private"
# Without a way out, nothing leads to a proxy.
_PROXIES = ("grpc_proxy", "http_proxy", "https_proxy", "all_proxy")
_FILES_EACH = 64  # Open files for the connections to one task, beside its listener.


@dataclass(frozen=True)
class Entered:
    """The network that this process is in.

    Attributes:
        ways: between the tasks, for `forwarder.start`.
        way_out: to all that the machine reaches, if any; it is there for as long as this object.
        lacking: why there is none; "" if there is one.
    """

    ways: Mapping[socket.socket, Target]
    way_out: WayOut | None
    lacking: str


@dataclass(frozen=True)
class Place:
    """Says where a task is in a private network.

    Attributes:
        folder: the folder on the task's machine whose Unix socket N leads to task N, wherever task
            N runs.
        task: the number of this task among all.
        addresses: the addresses of all tasks, inside each namespace.
    """

    folder: str
    task: int
    addresses: Sequence[str]

    @property
    def is_first(self) -> bool:
        """Whether this is the first task of its machine."""
        hosts = [split(address)[0] for address in self.addresses]
        return hosts.index(hosts[self.task]) == self.task

    def words(self) -> list[str]:
        """The words of a command line that `read` understands."""
        return [OPTION, json.dumps(asdict(self))]

    def enter(self) -> Entered:
        """Moves this process to a network of its own.

        This process must have one thread.

        Raises:
            MoxNotSupportedError: the kernel, or the container, does not allow it.
            MoxRuntimeError: this process can't listen at an address.
        """
        _allow_files(len(self.addresses) * _FILES_EACH)
        way, lacking = None, ""
        try:
            way = way_out.enter(OPTION, [split(address)[1] for address in self.addresses])
        except MoxNotSupportedError as error:
            lacking = str(error)
            isolate(OPTION)
        ways: dict[socket.socket, Target] = {}
        for number, address in enumerate(self.addresses):
            inside, path = split(address), f"{self.folder}/{number}"
            at, to = (path, inside) if number == self.task else (inside, path)
            try:
                ways[forwarder.listener(at)] = to
            except OSError as error:
                import resource

                raise MoxRuntimeError(
                    f"{OPTION}: the way to task {number} can't be opened at {at}: {error.strerror}."
                    f" (The limit of open files is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]},"
                    " ulimit -n.)"
                ) from error
        return Entered(ways, way, lacking)

    def environ(self, environ: Mapping[str, str], has_way_out: bool) -> dict[str, str]:
        """Returns an environment for the task, which asks no proxy for the way to other tasks."""
        if has_way_out:
            name = "no_grpc_proxy" if environ.get("no_grpc_proxy") else "no_proxy"
            hosts = dict.fromkeys(split(address)[0] for address in self.addresses)
            more = {name: ",".join(filter(None, [environ.get(name), *hosts]))}
        else:
            environ = {n: value for n, value in environ.items() if n.lower() not in _PROXIES}
            more = {}
        return {**environ, **more, OWN_NETWORK: "1"}


def read(words: Sequence[str]) -> tuple[Place | None, list[str]]:
    """Returns the place that a command line begins with, if any, and the rest of the words."""
    if len(words) < 2 or words[0] != OPTION:
        return None, list(words)
    return Place(**json.loads(words[1])), list(words[2:])


def _allow_files(wanted: int) -> None:
    """Raises the limit of open files of this process and its children, as far as it may."""
    import resource  # Windows has no such module.

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def probe() -> str:
    """Says why a process can't have a network of its own here; "" if it can."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            isolate(OPTION)
        except BaseException as error:
            os.write(writer, str(error).encode()[:4096])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        text = said.read()
    os.waitpid(child, 0)
    return text.decode(errors="replace")
