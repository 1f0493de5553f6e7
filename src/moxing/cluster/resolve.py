"""Finds the cluster from flags, from TF_CONFIG, or from a platform's variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from moxing.cluster import proxy, secret
from moxing.cluster.addresses import is_literal, named_in, split
from moxing.cluster.cluster import EVALUATOR, MOST_TASKS, PS, Cluster
from moxing.cluster.platforms import flags, modelarts, slurm, tf_config
from moxing.errors import MoxValueError


def resolve(
    given: Mapping[str, object], environ: Mapping[str, str], argv0: str = ""
) -> Cluster | None:
    """Returns the cluster that this process is part of; None if it is the only process.

    Flags and TF_CONFIG describe processes: if both do, they must agree. DLS and ModelArts describe
    nodes, each of which may run a worker and a ps: the hosts must agree. Slurm's variables are set
    whenever a program runs under Slurm, so they count only if nothing else describes a cluster.

    Args:
        given: the flags job_name, task_index, ps_hosts and worker_hosts, by name.
        environ: the environment variables.
        argv0: the program, for messages.

    Raises:
        MoxValueError: a description is impossible, two descriptions disagree (both are shown), or
            the secret is not valid.
    """
    from_flags = flags.read(given, argv0)
    from_config = tf_config.read(environ)
    from_nodes = modelarts.read(environ)
    if from_flags and from_config and _places(from_flags) != _places(from_config):
        raise _disagree(from_flags, from_config)
    cluster = from_flags or from_config
    if cluster and from_nodes and not _on_nodes(cluster, from_nodes):
        raise _disagree(cluster, from_nodes)
    cluster = cluster or from_nodes or slurm.read(environ)
    if cluster is None:
        return None
    _check(cluster)
    if cluster.alone:
        return None
    if cluster.job != EVALUATOR:
        proxy.refuse(cluster, environ)
    return replace(cluster, secret=secret.read(environ))


def _places(cluster: Cluster) -> tuple[object, ...]:
    return cluster.workers, cluster.ps, cluster.job, cluster.index


def _on_nodes(cluster: Cluster, nodes: Cluster) -> bool:
    """Whether the processes are on these nodes, and this process is on this node.

    A host name can't be compared with an IP address: such a pair passes.
    """
    mine = {split(address)[0] for address in cluster.tasks.values()}
    theirs = {split(address)[0] for address in nodes.tasks.values()}
    if len({is_literal(host) for host in mine | theirs}) > 1 or not cluster.address:
        return True
    if not nodes.address:
        return False
    return mine == theirs and split(cluster.address)[0] == split(nodes.address)[0]


def _check(cluster: Cluster) -> None:
    addresses = [*cluster.workers, *cluster.ps]
    if len(addresses) > MOST_TASKS:
        raise MoxValueError(
            f"By {cluster.source}, the job has {len(addresses)} tasks; {MOST_TASKS} is the most."
        )
    for address in addresses:
        split(address, cluster.source)
    twice = next((a for a, times in Counter(addresses).items() if times > 1), None)
    if twice is not None:
        tasks = [task for task, address in cluster.tasks.items() if address == twice]
        raise MoxValueError(
            f"By {cluster.source}, {' and '.join(tasks)} have the same address {twice}; each "
            "process needs a port of its own."
        )
    count = len(cluster.ps if cluster.job == PS else cluster.workers)
    if cluster.job != EVALUATOR and not 0 <= cluster.index < count:
        last = f"0 to {count - 1}" if count > 1 else "0"
        raise MoxValueError(
            f"By {cluster.source}, this process is {cluster.task}, but "
            + (f"there is only {cluster.job} {last}: " if count else f"there is no {cluster.job}: ")
            + (
                f"{named_in(cluster.ps if cluster.job == PS else cluster.workers)}."
                if count
                else "its list of hosts is empty."
            )
        )


def _disagree(first: Cluster, second: Cluster) -> MoxValueError:
    return MoxValueError(
        f"Two descriptions of the cluster disagree. By {_described(first)}. By "
        f"{_described(second)}. Correct one of them, or take it away."
    )


def _described(cluster: Cluster) -> str:
    ps = f"; ps {named_in(cluster.ps)}" if cluster.ps else ""
    return (
        f"{cluster.source}, this is {cluster.task} of the workers {named_in(cluster.workers)}{ps}"
    )
