"""Whether this process can reach the others: a session of TensorFlow waits for them for good."""

from __future__ import annotations

import socket

from moxing.cluster.addresses import split
from moxing.cluster.cluster import WORKER, Cluster, named
from moxing.errors import MoxRuntimeError

_SECONDS = 10.0


def check(cluster: Cluster, workers: bool = True) -> None:
    """Connects to every other process's server, once all of them have started theirs.

    That all have met says little: they have reached the chief, and not each other.

    Args:
        cluster: the processes and which one this is.
        workers: whether workers talk to each other; else to the parameter servers only.

    Raises:
        MoxRuntimeError: a name has no address here, or nothing answers at it.
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
