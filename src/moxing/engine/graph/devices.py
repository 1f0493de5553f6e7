"""Finds the devices of this process."""

from __future__ import annotations

import functools
import os

import tensorflow.compat.v1 as tf

from moxing import native_noise
from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW


@functools.cache
def has_gpu() -> bool:
    """Whether there is a GPU that TensorFlow can use.

    The first query makes native code print complaints if there is none. It happens at the start of
    a run, so that the program can set CUDA_VISIBLE_DEVICES before.
    """
    with native_noise.dropped():
        return bool(tf.config.list_physical_devices("GPU"))


def local(count: int) -> tuple[str, ...]:
    """The first `count` devices of this process: its GPUs, or logical devices on its CPU.

    Raises:
        MoxValueError: this machine has GPUs, but fewer than `count`.
    """
    kind = "GPU" if has_gpu() else "CPU"
    present = len(tf.config.list_physical_devices("GPU"))
    if kind == "GPU" and count > present:
        raise MoxValueError(
            f"{option('--num_gpus')}={count}, but this machine has {present} that TensorFlow"
            " can use. Lower it, or look at CUDA_VISIBLE_DEVICES."
        )
    if kind == "CPU" and count > 1:
        TENSORFLOW.info(
            "No GPU here: %d logical devices share the CPU (%d cores).", count, os.cpu_count() or 1
        )
    return tuple(f"/device:{kind}:{index}" for index in range(count))
