"""`horovod.tensorflow`."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError
from moxing.horovod.compression import Compression
from moxing.horovod.gradients import distributed_gradient_tape as DistributedGradientTape
from moxing.horovod.gradients import distributed_optimizer as DistributedOptimizer
from moxing.horovod.operations import (
    Adasum,
    Average,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allgather_object,
    allreduce,
    barrier,
    broadcast,
    broadcast_object,
    grouped_allreduce,
    join,
)
from moxing.horovod.variables import (
    BroadcastGlobalVariablesHook,
    broadcast_global_variables,
    broadcast_variables,
)
from moxing.horovod.world import (
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
)

__all__ = [
    "Adasum",
    "Average",
    "BroadcastGlobalVariablesHook",
    "Compression",
    "DistributedGradientTape",
    "DistributedOptimizer",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allgather_object",
    "allreduce",
    "barrier",
    "broadcast",
    "broadcast_global_variables",
    "broadcast_object",
    "broadcast_variables",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "grouped_allreduce",
    "init",
    "is_homogeneous",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rocm_built",
    "shutdown",
    "size",
]


def __getattr__(name: str) -> Any:
    if name == "elastic":
        raise MoxAttributeError(  # As an AttributeError, it keeps `hasattr` working.
            "hvd.elastic is not here: mox launch starts a job's processes again after a death"
            " (--max_restarts=N), and the program goes on from its last checkpoint.",
            name=name,
        )
    raise AttributeError(f"module 'horovod.tensorflow' has no attribute {name!r}")
