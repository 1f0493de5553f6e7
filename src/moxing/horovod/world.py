"""Horovod's ranks and sizes, for the cluster that openmox finds."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moxing import flags, logs
from moxing.cluster.addresses import split
from moxing.cluster.cluster import PS
from moxing.cluster.resolve import resolve
from moxing.errors import MoxValueError

if TYPE_CHECKING:
    from moxing.horovod.exchange import Exchange

# Horovod's API keeps its state per process, so these are global.
_alone: list[bool] = []
_exchange: list[Exchange] = []


def init(*arguments: Any, **keywords: Any) -> None:
    """Connects to the processes that the cluster flags, TF_CONFIG or the platform describe.

    Args:
        *arguments, **keywords: Horovod's arguments, which choose its transport; not used.

    Raises:
        MoxError: the processes can't connect; the message gives the reason.
        SystemExit: 0 in a parameter server, which Horovod does not have.
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
    from moxing.horovod import threads
    from moxing.horovod.exchange import Exchange

    threads.give()
    workers = dataclasses.replace(cluster, ps=())
    _exchange.append(Exchange(workers))
    _hide_cluster()
    logs.TENSORFLOW.info("Horovod: rank %d of %d", rank(), size())


def _hide_cluster() -> None:
    """Hides the cluster from the rest of the process: Horovod programs train without the engine.

    Otherwise Estimators and strategies would connect to the same processes a second time.
    """
    os.environ.pop("TF_CONFIG", None)
    for name in flags.CLUSTER_FLAGS:
        flags.set_flag(name, 0 if name == "task_index" else "")


def shutdown() -> None:
    """Disconnects from the other processes, and waits for them to finish."""
    while _exchange:
        _exchange.pop().leave()
    _alone.clear()


def is_initialized() -> bool:
    """Whether `init` was called."""
    return bool(_alone or _exchange)


def exchange() -> Exchange | None:
    """Returns the connection to the other processes; None: this process runs alone.

    Raises:
        MoxValueError: `init` was not called.
    """
    if not is_initialized():
        raise MoxValueError("Horovod has not been initialized; use hvd.init().")
    return _exchange[0] if _exchange else None


def size() -> int:
    """Returns the number of processes."""
    found = exchange()
    return found.cluster.size if found else 1


def rank() -> int:
    """Returns the index of this process, from 0."""
    found = exchange()
    return found.cluster.index if found else 0


def local_size() -> int:
    """Returns the number of processes on this machine."""
    return len(_neighbors())


def local_rank() -> int:
    """Returns the index of this process among the processes on this machine."""
    return _neighbors().index(rank())


def cross_size() -> int:
    """Returns the number of machines."""
    return len(dict.fromkeys(_hosts()))


def cross_rank() -> int:
    """Returns the index of this machine."""
    return list(dict.fromkeys(_hosts())).index(_hosts()[rank()])


def is_homogeneous() -> bool:
    """Whether every machine has the same number of processes."""
    hosts = _hosts()
    return len({hosts.count(host) for host in hosts}) == 1


def _hosts() -> list[str]:
    found = exchange()
    return [split(address)[0] for address in found.cluster.workers] if found else [""]


def _neighbors() -> list[int]:
    hosts = _hosts()
    return [index for index, host in enumerate(hosts) if host == hosts[rank()]]


def never() -> Callable[[], bool]:
    """Returns a function that reports a transport of Horovod as absent: it returns False."""

    def built() -> bool:
        return False

    return built


mpi_built = mpi_enabled = mpi_threads_supported = never()
gloo_built = gloo_enabled = nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = never()
