"""Finds the devices of this process."""

from __future__ import annotations

import functools

import tensorflow.compat.v1 as tf

from moxing import native_noise
from moxing.engine.graph import hardware
from moxing.engine.graph.hardware import Machine
from moxing.framework import compiled_code
from moxing.logs import TENSORFLOW


@functools.cache
def has_gpu() -> bool:
    """Whether there is a GPU that TensorFlow can use.

    The first query makes native code print complaints if there is none. It happens at the start of
    a run, so that the program can set CUDA_VISIBLE_DEVICES before.
    """
    compiled_code.keep(tf.version.VERSION)
    with native_noise.dropped():
        return bool(tf.config.list_physical_devices("GPU"))


def machine() -> Machine:
    """The devices of this process."""
    gpus = len(tf.config.list_physical_devices("GPU")) if has_gpu() else 0
    return Machine(gpus, hardware.cores())


def local(count: int) -> tuple[str, ...]:
    """The first `count` devices of this process: its GPUs, or logical devices on its CPU.

    Raises:
        MoxValueError: this machine has GPUs, but fewer than `count`.
    """
    here = machine()
    found = hardware.names(here, count)
    if not here.gpus and count > 1:
        TENSORFLOW.info(
            "No GPU here: %d logical devices share the CPU (%d cores).", count, here.cores
        )
    return found
