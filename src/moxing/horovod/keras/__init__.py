"""`horovod.keras`, which is the same as `horovod.tensorflow.keras`."""

from __future__ import annotations

from typing import Any

from moxing.horovod import callbacks as _callbacks
from moxing.horovod.compression import Compression
from moxing.horovod.gradients import distributed_optimizer as DistributedOptimizer
from moxing.horovod.keras import callbacks
from moxing.horovod.keras.values import allgather, allreduce, broadcast
from moxing.horovod.operations import (
    Adasum,
    Average,
    Max,
    Min,
    Sum,
    broadcast_object,
)
from moxing.horovod.variables import broadcast_global_variables
from moxing.horovod.world import (
    cross_rank,
    cross_size,
    gloo_built,
    gloo_enabled,
    init,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    shutdown,
    size,
)

__all__ = [
    "Adasum",
    "Average",
    "Compression",
    "DistributedOptimizer",
    "Max",
    "Min",
    "Sum",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_global_variables",
    "broadcast_object",
    "callbacks",
    "cross_rank",
    "cross_size",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_initialized",
    "load_model",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "shutdown",
    "size",
]


def load_model(
    filepath: Any,
    custom_optimizers: Any = None,
    custom_objects: Any = None,
    compression: Any = Compression.none,
) -> Any:
    """Loads a saved model, and makes its optimizer distributed.

    Args:
        filepath: the path of the saved model.
        custom_optimizers: the program's own optimizer classes.
        custom_objects: the program's own layers and functions, by name.
        compression: see `DistributedOptimizer`.
    """
    objects = {kind.__name__: kind for kind in custom_optimizers or ()}
    objects |= dict(custom_objects or {})
    model = _callbacks.keras().models.load_model(filepath, custom_objects=objects)
    model.optimizer = DistributedOptimizer(model.optimizer, compression=compression)
    return model
