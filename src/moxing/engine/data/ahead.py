"""Puts batches into the memory of the devices that compute, before the step that takes them.

Without that, a step on a GPU begins with a copy from the host's memory, for which all its
operations wait. TensorFlow's iterator for several devices copies the next batch meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops.multi_device_iterator_ops import MultiDeviceIterator

_BATCHES = 1  # Batches that wait in the memory of each device.


def iterator(dataset: Any, names: Sequence[str]) -> tuple[tf.Operation, Callable[[int], Any]]:
    """Makes an iterator that hands the elements of a dataset to the devices in turn.

    Args:
        dataset: a dataset of tensors or flat tuples of tensors.
        names: the names of the devices.

    Returns:
        The initializer of the iterator, and a function that adds an operation to the graph, which
        takes the next element of the device with a number.
    """
    here = tf.no_op().device  # In a cluster a function has to name the task of its device.
    task = tf.DeviceSpec.from_string(here).replace(device_type=None, device_index=None).to_string()
    places = [f"{task}{name}" for name in names]
    made = MultiDeviceIterator(
        dataset,
        places,
        max_buffer_size=_BATCHES,
        prefetch_buffer_size=_BATCHES,
        source_device=f"{task}/device:CPU:0",
    )

    def taken(number: int) -> Any:
        with tf.device(places[number]):
            return made.get_next(places[number])

    return made.initializer, taken
