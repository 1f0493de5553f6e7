"""Where a run computes, as frozen values that need no TensorFlow: flags are read without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moxing.cluster.cluster import Cluster


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together, and what this one needs to meet the others.

    Attributes:
        cluster: the processes and which one this is; None: this process is alone.
        devices: devices of this process, each with a model and a batch of its own.
        synchronous: whether processes update together, with the mean of their gradients.
        digest: what has to be equal in all processes, by its name in messages.
        start_timeout: seconds to wait for the other processes.
        stall_timeout: seconds after which a process that stands still counts as lost.
    """

    cluster: Cluster | None = None
    devices: int = 1
    synchronous: bool = True
    digest: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 300.0
    stall_timeout: float = 60.0

    @property
    def alone(self) -> bool:
        """Whether this process has no partner."""
        return self.cluster is None or self.cluster.alone

    @property
    def is_chief(self) -> bool:
        """Whether this process is the one that saves and exports."""
        return self.cluster is None or self.cluster.is_chief

    @property
    def size(self) -> int:
        """How many workers there are."""
        return 1 if self.cluster is None else self.cluster.size


@dataclass(frozen=True)
class Placement:
    """The processes and devices of a run, and which of them hold the variables.

    Attributes:
        group: the processes that train together.
        copied: whether each device has a copy of the variables; None: where that is faster.
        on_servers: whether variables live on the cluster's parameter servers.
        trial: whether `copied` and `on_servers` are to be found by trying what is faster.
        compressed: whether gradients travel between processes as float16.
    """

    group: ProcessGroup = field(default_factory=ProcessGroup)
    copied: bool | None = None
    on_servers: bool = False
    trial: bool = False
    compressed: bool = False

    @property
    def devices(self) -> int:
        """Devices of this process."""
        return self.group.devices
