"""The devices and machines that a graph is made for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from moxing.flow.trace.exchange import Exchange


@dataclass(frozen=True)
class Topology:
    """The devices of a session.

    Attributes:
        devices: how many devices of this machine compute: GPUs, or without one shares of the CPU.
        exchange: the operations by which the graphs of several machines meet; None: there is one.
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
        """Where operations of this process are made, among those of other machines."""
        return self.exchange.place.scope() if self.exchange is not None else nullcontext()
