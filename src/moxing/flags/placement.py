"""Reads where a run computes from flags and the environment: devices, processes, variables."""

from __future__ import annotations

import os
import sys
from typing import Final

from moxing import flags
from moxing.cluster import script
from moxing.cluster.resolve import resolve
from moxing.engine.job.placement import Placement, ProcessGroup

# The value of --variable_update for one group of all devices.
_TOGETHER: Final = "collective"
# If a platform starts processes minutes apart, a user can raise --session_timeout.
_START_SECONDS = 300.0
# Flags that may differ between processes: identity, output, waiting times and numbers of threads.
# The rendezvous compares the lists of hosts. All other flags decide what is learned or which
# process sends which tensor, and must be equal.
PERSONAL: Final = frozenset(
    {
        *flags.CLUSTER_FLAGS,
        "log_first_clone",
        "num_inter_threads",
        "num_intra_threads",
        "profile_steps",
        "session_timeout",
        "stall_timeout",
        "summary_verbosity",
    }
)


def placement() -> Placement:
    """Returns where a run computes, from the flags and the environment.

    Raises:
        MoxValueError: the cluster is not valid, or flags and environment disagree.
    """
    cluster = resolve(flags.cluster_flags(), os.environ, sys.argv[0])
    update = flags.get_flag("variable_update") or ""
    group = ProcessGroup(
        cluster=cluster,
        devices=_devices(flags.get_flag("num_gpus")),
        synchronous=flags.get_flag("sync_replicas") or cluster is None,
        digest=_digest() if cluster is not None else {},
        start_timeout=float(flags.get_flag("session_timeout") or _START_SECONDS),
        stall_timeout=float(flags.get_flag("stall_timeout")),
    )
    return Placement(
        group,
        copied=_copied(update),
        on_servers=update == "parameter_server" and cluster is not None,
        trial=update == flags.AUTO,
        compressed=flags.get_flag("compress_gradients"),
        together=True if update == _TOGETHER else None,
    )


def _devices(num_gpus: int) -> int:
    """Returns how many devices compute; UAI Train gives 0 on a machine without a GPU."""
    if num_gpus == 0:
        # TensorFlow reads this when the run first looks for GPUs, in `graph.devices.has_gpu`.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return max(num_gpus, 1)


def _copied(update: str) -> bool | None:
    """Whether each device of a process has a copy of the variables; None to choose by speed."""
    if update == "parameter_server":
        return False
    return True if update in flags.REPLICATED else None


def _digest() -> dict[str, str]:
    """Returns the values that must be equal in all processes, by their names for messages."""
    facts = {
        f"the flag --{name}": "not given" if value is None else str(value)
        for name in sorted(flags.FLAG_NAMES - PERSONAL)
        for value in [flags.get_flag(name)]
    }
    return facts | script.facts()
