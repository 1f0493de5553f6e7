"""Who this process is: Horovod's ranks and sizes, of the cluster that openmox finds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moxing import flags, logs
from moxing.cluster.addresses import split
from moxing.cluster.cluster import PS, Cluster
from moxing.cluster.resolve import resolve
from moxing.errors import MoxValueError

if TYPE_CHECKING:
    from moxing.horovod.exchange import Exchange

# Horovod's state is the process's, as its API says.
_alone: list[bool] = []
_exchange: list[Exchange] = []


def init(*arguments: Any, **keywords: Any) -> None:
    """Meets the other processes, those of the cluster flags, TF_CONFIG or the platform.

    Args:
        *arguments, **keywords: those of Horovod, which choose its transport; not used.

    Raises:
        MoxError: they can't meet, with the reason.
        SystemExit: with 0, in a parameter server, which Horovod does not know.
    """
    del arguments, keywords
    if is_initialized():
        return
    logs.settle()
    given = {name: flags.get_flag(name) for name in flags.CLUSTER_FLAGS}
    cluster = resolve(given, os.environ, sys.argv[0])
    if cluster is not None and cluster.job == PS:
        logs.TENSORFLOW.info("Horovod has no parameter servers: %s ends.", cluster.task)
        raise SystemExit(0)
    if cluster is None:
        _alone.append(True)
        return
    from moxing.horovod.exchange import Exchange

    workers = Cluster(cluster.workers, (), cluster.job, cluster.index, cluster.source)
    _exchange.append(Exchange(workers))
    _hide_cluster()
    logs.TENSORFLOW.info("Horovod: rank %d of %d", rank(), size())


def _hide_cluster() -> None:
    """From now on each process is alone to everybody else: Horovod programs train by themselves.

    Estimators and strategies would otherwise meet the same processes a second time.
    """
    os.environ.pop("TF_CONFIG", None)
    for name in flags.CLUSTER_FLAGS:
        flags.set_flag(name, 0 if name == "task_index" else "")


def shutdown() -> None:
    """Leaves the others; the processes end together."""
    while _exchange:
        _exchange.pop().leave()
    _alone.clear()


def is_initialized() -> bool:
    """Whether `init` was called."""
    return bool(_alone or _exchange)


def exchange() -> Exchange | None:
    """What sums over processes; None: this one is alone.

    Raises:
        MoxValueError: `init` was not called.
    """
    if not is_initialized():
        raise MoxValueError("Horovod has not been initialized; use hvd.init().")
    return _exchange[0] if _exchange else None


def size() -> int:
    """How many processes there are."""
    found = exchange()
    return found.cluster.size if found else 1


def rank() -> int:
    """The number of this process, from 0."""
    found = exchange()
    return found.cluster.index if found else 0


def local_size() -> int:
    """How many processes are on this machine."""
    return len(_neighbors())


def local_rank() -> int:
    """The number of this process among those of this machine."""
    return _neighbors().index(rank())


def cross_size() -> int:
    """How many machines there are."""
    return len(dict.fromkeys(_hosts()))


def cross_rank() -> int:
    """The number of this machine."""
    return list(dict.fromkeys(_hosts())).index(_hosts()[rank()])


def is_homogeneous() -> bool:
    """Whether each machine has as many processes."""
    hosts = _hosts()
    return len({hosts.count(host) for host in hosts}) == 1


def _hosts() -> list[str]:
    found = exchange()
    return [split(address)[0] for address in found.cluster.workers] if found else [""]


def _neighbors() -> list[int]:
    hosts = _hosts()
    return [index for index, host in enumerate(hosts) if host == hosts[rank()]]


def never() -> Callable[[], bool]:
    """A function that says that a transport of Horovod's is not there."""

    def built() -> bool:
        return False

    return built


mpi_built = mpi_enabled = mpi_threads_supported = never()
gloo_built = gloo_enabled = nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = never()
