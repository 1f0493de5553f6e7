"""`horovod.tensorflow.mpi_ops`: the operations by the path of Horovod's own module."""

from __future__ import annotations

from typing import Any

from moxing.horovod.operations import (
    Adasum,
    Average,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allreduce,
    broadcast,
    join,
)
from moxing.horovod.world import (
    init,
    is_initialized,
    local_rank,
    local_size,
    mpi_threads_supported,
    rank,
    shutdown,
    size,
)

__all__ = [
    "Adasum",
    "Average",
    "Max",
    "Min",
    "Product",
    "Sum",
    "_allreduce",
    "allgather",
    "broadcast",
    "init",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "mpi_threads_supported",
    "rank",
    "shutdown",
    "size",
]


def _allreduce(tensor: Any, name: str | None = None, op: str = Sum, **others: Any) -> Any:
    """Reduces a tensor over processes: without `op`, to its sum, unlike `hvd.allreduce`."""
    return allreduce(tensor, name=name, op=op, **others)
