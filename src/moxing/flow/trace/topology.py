"""The devices and machines for which a graph is made."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from moxing.flow.trace.exchange import Exchange


@dataclass(frozen=True)
class Topology:
    """The devices of a session.

    Attributes:
        devices: the number of devices of this machine: GPUs, or without a GPU shares of the CPU.
        exchange: the collectives between the graphs of several machines; None with one machine.
    """

    devices: int = 1
    exchange: Exchange | None = None

    @property
    def machines(self) -> int:
        """How many machines train together."""
        return self.exchange.size if self.exchange is not None else 1

    @property
    def index(self) -> int:
        """The number of this machine."""
        return self.exchange.index if self.exchange is not None else 0

    def scope(self) -> AbstractContextManager[Any]:
        """In the block, operations are made on this process's devices."""
        return self.exchange.place.scope() if self.exchange is not None else nullcontext()
