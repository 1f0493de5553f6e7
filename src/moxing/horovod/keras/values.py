"""`horovod.keras.allreduce` and its kin, which return values also where the program builds graphs.

A Keras program of TensorFlow 1.x calls them on Python numbers, such as the epoch to resume from,
and goes on with the result as a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from moxing.horovod import callbacks, operations
from moxing.horovod.compression import Compression


def allreduce(
    value: Any,
    name: str | None = None,
    average: bool | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    op: str | None = None,
    compression: Any = Compression.none,
    **others: Any,
) -> Any:
    """Reduces a value over processes, by default to its mean.

    Args:
        value: a tensor, variable, array or number with the same shape in all processes.
        name, average, prescale_factor, postscale_factor, op, compression: as in
            `horovod.tensorflow.allreduce`.
        **others: not used.

    Returns:
        A tensor in eager mode, else an array.
    """
    del others

    def reduce(tensor: Any) -> Any:
        return operations.allreduce(
            tensor,
            average=average,
            name=name,
            op=op,
            compression=compression,
            prescale_factor=prescale_factor,
            postscale_factor=postscale_factor,
        )

    return _evaluated(reduce, value)


def allgather(value: Any, name: str | None = None, **others: Any) -> Any:
    """Concatenates all processes' values; a tensor in eager mode, else an array."""
    del others
    return _evaluated(lambda tensor: operations.allgather(tensor, name), value)


def broadcast(value: Any, root_rank: int, name: str | None = None, **others: Any) -> Any:
    """Returns the value of process `root_rank`: a tensor in eager mode, else an array."""
    del others
    return _evaluated(lambda tensor: operations.broadcast(tensor, root_rank, name), value)


def _evaluated(make: Callable[[Any], Any], value: Any) -> Any:
    if tf.executing_eagerly():
        return make(tf.convert_to_tensor(value))
    if tf.is_tensor(value) or isinstance(value, tf.Variable):
        return callbacks.keras().src.backend.get_session().run(make(value))
    with context.eager_mode():
        return make(tf.convert_to_tensor(value)).numpy()
