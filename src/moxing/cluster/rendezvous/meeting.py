"""Lets the tasks of a job meet: all dial the chief, and start together or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Mapping

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import handshake, ports
from moxing.cluster.rendezvous.dial import dial
from moxing.cluster.rendezvous.reception import Reception
from moxing.cluster.secret import VARIABLE
from moxing.cluster.wire import LONGEST, Link
from moxing.logs import TENSORFLOW

OWN_NETWORK = "MOX_OWN_NETWORK"  # Set for tasks in a network that nobody else reaches.


def meet(cluster: Cluster, digest: Mapping[str, str], timeout: float) -> dict[str, Link]:
    """Waits for all tasks; returns the chief's links to all tasks, or a task's link to the chief.

    With a secret, each side of a connection proves that it has the secret before it sends any
    facts, and marks every message from then on.

    Every task holds its own port meanwhile, and has released it for TensorFlow's server when this
    returns. The connections to the chief stay open as the control channel, so openmox listens on no
    port while the job runs, and firewalls need to allow only the listed ports.

    Raises:
        MissingPeerError: a task did not come, or the job is running without this task.
        MoxRuntimeError: this task's port can't be used (see `ports.take`), or a task is there twice
            or differs.
    """
    deadline = time.monotonic() + timeout
    greeting = handshake.hello(cluster, digest)
    with contextlib.closing(ports.take(cluster)) as listener:
        if cluster.is_chief:
            job = secrets.token_hex(4)
            links = Reception(cluster, listener, greeting, job).gather(deadline)
        else:
            link, job = dial(cluster, greeting, deadline)
            links = {"worker 0": link}
    for link in links.values():
        link.longest = LONGEST
    _say_start(cluster, job)
    return links


def _say_start(cluster: Cluster, job: str) -> None:
    ps = f" and {len(cluster.ps)} ps" if cluster.ps else ""
    workers = f"{cluster.size} worker" + ("s" if cluster.size > 1 else "")
    TENSORFLOW.info("Job %s: all %s%s are there; this is %s", job, workers, ps, cluster.task)
    if cluster.secret is None:
        TENSORFLOW.info(
            "The job has no secret: until its start, whoever reached worker 0 could have joined or"
            " ended it. %s keeps others out",
            VARIABLE,
        )
    if os.environ.get(OWN_NETWORK):
        return
    TENSORFLOW.info(
        "TensorFlow's server listens on port %s of all network interfaces, and whoever reaches it "
        "can read and write files: keep this port on a private network",
        cluster.address.rpartition(":")[2],
    )
