"""Checks, from one machine, the network between the processes of a cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping

from moxing.cluster import addresses
from moxing.cluster.cluster import Cluster, named
from moxing.cluster.rendezvous import ports
from moxing.cluster.resolve import resolve
from moxing.cluster.secret import FILE_VARIABLE, VARIABLE
from moxing.doctor import exposure, meeting
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.errors import MoxError

_SECONDS = 3.0


def findings(
    given: Mapping[str, object], environ: Mapping[str, str], meet: float = 0.0
) -> Iterator[Finding]:
    """Looks at the cluster that flags or the environment describe.

    Args:
        given: values of the cluster's flags, by name.
        environ: the environment.
        meet: seconds to wait for the doctors of the other tasks; 0 only checks which ports are in
            use.
    """
    try:
        cluster = resolve(given, environ)
    except MoxError as error:
        yield Finding(BAD, "cluster", str(error))
        return
    if cluster is None:
        yield Finding(NOTE, "cluster", "none is described: this process would run alone")
        return
    size = f"{len(cluster.workers)} workers, {len(cluster.ps)} parameter servers"
    yield Finding(GOOD, "cluster", f"{size}, from {cluster.source}; this is {cluster.task}")
    if not cluster.address:
        yield Finding(NOTE, "own address", "none: nobody talks to an evaluator")
        return
    yield _own_address(cluster)
    yield _secret(cluster)
    yield from meeting.findings(cluster, meet) if meet else _looked_at(cluster)
    yield exposure.finding(addresses.split(cluster.address)[1])
    if not meet and len(cluster.tasks) > 1:
        yield Finding(
            NOTE,
            "not compared",
            "the clocks, versions and lists of hosts of the other tasks; mox doctor --cluster"
            " --meet=60, run on all machines within a minute, compares them",
        )


def _looked_at(cluster: Cluster) -> Iterator[Finding]:
    """Checks which ports are in use now, this task's and the others'."""
    _, port = addresses.split(cluster.address)
    holder = ports.holder(port)
    if holder:
        yield Finding(NOTE, "own port", f"{holder} listens on {port}; a new job needs it free")
    yield from _peers(cluster)


def _own_address(cluster: Cluster) -> Finding:
    host, _ = addresses.split(cluster.address)
    here = addresses.is_here(host)
    if here is None:
        return Finding(BAD, "own address", f"the name {host} can't be looked up here")
    if not here:
        return Finding(
            BAD, "own address", f"{cluster.address} is not on this machine: check --task_index"
        )
    return Finding(GOOD, "own address", cluster.address)


def _secret(cluster: Cluster) -> Finding:
    if cluster.secret is not None:
        return Finding(GOOD, "secret", "the job has one: only tasks that have it too can join")
    return Finding(
        NOTE,
        "secret",
        f"none: until the start, whoever reaches worker 0 can join or end the job. {VARIABLE} or"
        f" {FILE_VARIABLE}, the same for all tasks, keeps others out",
    )


def _peers(cluster: Cluster) -> Iterator[Finding]:
    for task, address in cluster.tasks.items():
        if task != cluster.task:
            yield _peer(named(task, address), address)


def _peer(what: str, address: str) -> Finding:
    try:
        with socket.create_connection(addresses.split(address), timeout=_SECONDS):
            return Finding(GOOD, what, "answers")
    except TimeoutError:
        return Finding(
            BAD,
            what,
            f"no answer in {_SECONDS:.0f} s: the machine is off, or a firewall is between",
        )
    except ConnectionRefusedError:
        return Finding(NOTE, what, "its machine answers, but nothing listens there yet")
    except OSError as error:
        return Finding(BAD, what, f"can't be reached: {error.strerror or error}")
