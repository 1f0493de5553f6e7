"""From flags and the environment to where a run computes: devices, processes, variables."""

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
# Where a platform starts processes minutes apart, --session_timeout is the flag to raise.
_START_SECONDS = 300.0
# What each process may have as it likes: who it is, what it shows, how long it waits and how many
# threads it has. The lists of hosts are compared where processes meet. All other flags decide what
# is learned or who sends what to whom, and must be equal.
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
    """Where a run computes, as the flags and the environment say.

    Raises:
        MoxValueError: a cluster that can't be, or flags and environment that disagree.
    """
    cluster = resolve(
        {name: flags.get_flag(name) for name in flags.CLUSTER_FLAGS}, os.environ, sys.argv[0]
    )
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
    """How many devices compute; UAI Train says 0 on a machine without a GPU."""
    if num_gpus == 0:
        # Read by TensorFlow when the run first looks for GPUs, in `engine.devices.has_gpu`.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return max(num_gpus, 1)


def _copied(update: str) -> bool | None:
    """Whether each device of a process has a copy of the variables; None: where it is faster."""
    if update == "parameter_server":
        return False
    return True if update in flags.REPLICATED else None


def _digest() -> dict[str, str]:
    """What has to be equal in all processes, by the words of an error."""
    facts = {
        f"the flag --{name}": "not given" if value is None else str(value)
        for name in sorted(flags.FLAG_NAMES - PERSONAL)
        for value in [flags.get_flag(name)]
    }
    return facts | script.facts()
