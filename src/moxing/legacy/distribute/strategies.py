"""Gives strategies of tf.distribute the behavior that programs of TensorFlow 2.0 to 2.4 rely on."""

from __future__ import annotations

import functools
import signal
import threading
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import (
    collective_all_reduce_strategy,
    distribute_lib,
    input_lib,
)

from moxing import native_noise


def install(preempted: bool) -> None:
    """Changes TensorFlow's strategies, for the whole process.

    Args:
        preempted: whether the program asks TensorFlow to tell it about SIGTERM, as programs since
            TensorFlow 2.8 may.
    """
    _meet(end_at_sigterm=not preempted)
    _read_in_replicas()
    _take_old_names()


def _take_old_names() -> None:
    """Restores the methods of strategies whose names TensorFlow 2.2 to 2.4 changed."""
    kind: Any = distribute_lib.Strategy

    def experimental_run_v2(self: Any, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The name of `run` until TensorFlow 2.1."""
        return self.run(fn, args=args, kwargs=kwargs)

    def experimental_make_numpy_dataset(self: Any, numpy_input: Any) -> Any:
        """Returns a dataset of the elements of arrays or of a structure of arrays."""
        return tf.data.Dataset.from_tensor_slices(numpy_input)

    for method in (experimental_run_v2, experimental_make_numpy_dataset):
        if not hasattr(kind, method.__name__):
            setattr(kind, method.__name__, method)


def _meet(end_at_sigterm: bool) -> None:
    """Drops native code's lines about lost processes once those of MultiWorkerMirrored meet.

    Args:
        end_at_sigterm: lets SIGTERM end such a process, or call the program's handler. TensorFlow's
            native code takes the signal when the processes meet. It then tells those parts of
            TensorFlow that save before a preemption; without them, nothing happens at all.
    """
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    meet = extended._initialize_multi_worker
    if hasattr(meet, "__wrapped__"):
        return

    @functools.wraps(meet)
    def initialize(self: Any, *given: Any, **named: Any) -> None:
        native_noise.drop_from_now_on()
        meet(self, *given, **named)
        if end_at_sigterm and threading.current_thread() is threading.main_thread():
            # Python still knows its handler; setting it again puts it in front of TensorFlow's.
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)

    extended._initialize_multi_worker = initialize


def _read_in_replicas() -> None:
    """Lets a function that runs in replicas call `next` of a distributed iterator.

    TensorFlow 2.4 gave each replica its own batch of the step; today's refuses the call.
    """
    iterators = input_lib.DistributedIteratorBase
    read = iterators.get_next
    if hasattr(read, "__wrapped__"):
        return

    @functools.wraps(read)
    def get_next(self: Any, name: str | None = None) -> Any:
        replica = distribute_lib.get_replica_context()
        if replica is None or replica.strategy is not self._strategy:
            return read(self, name)
        return replica.merge_call(lambda _: read(self, name))

    iterators.get_next = get_next
