"""The placement of a run, as frozen dataclasses; no TensorFlow, since flags are read without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moxing.cluster.cluster import Cluster


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together, and the settings by which this process joins them.

    Attributes:
        cluster: the processes, and which of them this one is; None: this process is alone.
        devices: number of devices of this process, each with its own model and batch.
        synchronous: whether processes update together, with the mean of their gradients.
        digest: values that must be equal in all processes, by their names in messages.
        start_timeout: seconds to wait for the other processes.
        stall_timeout: seconds without progress after which a process counts as lost.
    """

    cluster: Cluster | None = None
    devices: int = 1
    synchronous: bool = True
    digest: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 300.0
    stall_timeout: float = 60.0

    @property
    def alone(self) -> bool:
        """Whether there are no other processes."""
        return self.cluster is None or self.cluster.alone

    @property
    def is_chief(self) -> bool:
        """Whether this process is the chief, which saves and exports."""
        return self.cluster is None or self.cluster.is_chief

    @property
    def size(self) -> int:
        """The number of workers."""
        return 1 if self.cluster is None else self.cluster.size


@dataclass(frozen=True)
class Placement:
    """The processes and devices of a run, and which of them hold the variables.

    Attributes:
        group: the processes that train together.
        copied: whether each device has a copy of the variables; None: only GPUs have copies.
        on_servers: whether variables are placed on the cluster's parameter servers.
        trial: whether to choose `copied` and `on_servers` by measuring which is fastest.
        together: whether gradients of copied variables are summed in one group of all devices of
            all processes; None: only those of GPUs are.
        compressed: whether gradients are sent between processes as float16.
    """

    group: ProcessGroup = field(default_factory=ProcessGroup)
    copied: bool | None = None
    on_servers: bool = False
    trial: bool = False
    compressed: bool = False
    together: bool | None = None

    @property
    def devices(self) -> int:
        """The number of devices of this process."""
        return self.group.devices
