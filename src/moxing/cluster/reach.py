"""Checks that this process can reach the others, for which a session would wait forever."""

from __future__ import annotations

import socket

from moxing.cluster.addresses import split
from moxing.cluster.cluster import WORKER, Cluster, named
from moxing.errors import MoxRuntimeError

_SECONDS = 10.0


def check(cluster: Cluster, workers: bool = True) -> None:
    """Connects to every other process's server, once all of them have started theirs.

    The rendezvous does not show this: there each task has reached only the chief.

    Args:
        cluster: the processes, and this process's role.
        workers: whether workers connect to each other; else only to the parameter servers.

    Raises:
        MoxRuntimeError: a host name can't be resolved here, or nothing answers at the address.
    """
    for task, address in cluster.tasks.items():
        if task == cluster.task or (task.startswith(WORKER) and not workers):
            continue
        try:
            socket.create_connection(split(address), _SECONDS).close()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise MoxRuntimeError(
                f"{cluster.task} can't reach {named(task, address)}: {why}. All"
                " machines must reach each other, under these addresses. Correct the address in"
                f" {cluster.source}, the name service, or the firewall."
            ) from error
