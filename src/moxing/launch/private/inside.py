"""One task's end of a private network: its own namespace, and the ways in and out of it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from moxing.cluster.addresses import split
from moxing.errors import MoxRuntimeError
from moxing.launch.isolate import isolate
from moxing.launch.private import forwarder
from moxing.launch.private.forwarder import Target

OPTION = "--private"
# A proxy is outside of the private network, where nothing leads.
_PROXIES = ("grpc_proxy", "http_proxy", "https_proxy", "all_proxy")
_FILES_EACH = 64  # Open files for the connections to one task, beside its listener.


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

    def words(self) -> list[str]:
        """The words of a command line that `read` understands."""
        return [OPTION, json.dumps(asdict(self))]

    def enter(self) -> dict[socket.socket, Target]:
        """Moves this process to a network of its own; returns the ways of `forwarder.start`.

        This process must have one thread.

        Raises:
            MoxNotSupportedError: the kernel, or the container, does not allow it.
            MoxRuntimeError: this process can't listen at an address.
        """
        _allow_files(len(self.addresses) * _FILES_EACH)
        isolate(OPTION)
        ways: dict[socket.socket, Target] = {}
        for number, address in enumerate(self.addresses):
            inside, path = split(address), f"{self.folder}/{number}"
            at, to = (path, inside) if number == self.task else (inside, path)
            try:
                ways[forwarder.listener(at)] = to
            except OSError as error:
                raise MoxRuntimeError(
                    f"{OPTION}: the way to task {number} can't be opened at {at}: {error.strerror}."
                    f" (The limit of open files is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]},"
                    " ulimit -n.)"
                ) from error
        return ways


def read(words: Sequence[str]) -> tuple[Place | None, list[str]]:
    """Returns the place that a command line begins with, if any, and the rest of the words."""
    if len(words) < 2 or words[0] != OPTION:
        return None, list(words)
    return Place(**json.loads(words[1])), list(words[2:])


def without_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment without the variables that name a proxy."""
    return {name: value for name, value in environ.items() if name.lower() not in _PROXIES}


def _allow_files(wanted: int) -> None:
    """Raises the limit of open files of this process and its children, as far as it may."""
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
