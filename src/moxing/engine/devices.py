"""Which devices this process has."""

from __future__ import annotations

import functools

import tensorflow.compat.v1 as tf

from moxing import native_noise


@functools.cache
def has_gpu() -> bool:
    """Whether there is a GPU that TensorFlow can use.

    The first look makes native code complain where there is none; it is taken at the start of a
    run, after the program had its chance to set CUDA_VISIBLE_DEVICES.
    """
    with native_noise.dropped():
        return bool(tf.config.list_physical_devices("GPU"))
