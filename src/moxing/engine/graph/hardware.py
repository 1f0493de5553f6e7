"""Decides, from a description of a process's devices, what a run makes of them.

All that depends on a GPU is decided here, so that what a machine with eight of them would get can
be asked on any machine. `devices` describes the machine that there is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import tensorflow.compat.v1 as tf

from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError

NCCL: Final = "nccl"
# TensorFlow's own choice, which never is NCCL.
AUTO: Final = "auto"
_LEADER = "/job:localhost/replica:0/task:0"
# Gradients below so many bytes share a message. On GPUs a message of NCCL costs a launch on every
# device; messages of this size reach its full bandwidth, and the first of them is full long before
# back-propagation ends.
_NCCL_BUCKET = 16 * 1024 * 1024
_RING_BUCKET = 2 * 1024 * 1024


@dataclass(frozen=True)
class Machine:
    """The devices of a process.

    Attributes:
        gpus: how many GPUs TensorFlow can use.
        cores: how many cores the CPU has.
    """

    gpus: int = 0
    cores: int = 1

    @property
    def kind(self) -> str:
        """The kind of device that computes, as TensorFlow names it."""
        return "GPU" if self.gpus else "CPU"


@dataclass(frozen=True)
class Exchange:
    """How the copies of a variable on all devices of all processes get the same gradient.

    Attributes:
        hint: what the collectives are made of, `communication_hint` of TensorFlow's operations.
        bucket: gradients of fewer bytes share a message, which has at most this number of bytes.
    """

    hint: str
    bucket: int


def names(machine: Machine, count: int) -> tuple[str, ...]:
    """The names of the first `count` devices: GPUs, or logical devices on the CPU.

    Raises:
        MoxValueError: the machine has GPUs, but fewer than `count`.
    """
    if machine.gpus and count > machine.gpus:
        raise MoxValueError(
            f"{option('--num_gpus')}={count}, but this machine has {machine.gpus} that TensorFlow"
            " can use. Lower it, or look at CUDA_VISIBLE_DEVICES."
        )
    return tuple(f"/device:{machine.kind}:{index}" for index in range(count))


def copies(machine: Machine, asked: bool | None) -> bool:
    """Whether each device has a copy of the variables: what was asked for, or what is faster.

    Args:
        machine: logical devices on a CPU share its memory, and compute faster with one set of
            variables.
        asked: the choice of the user; None: the user made none.
    """
    return machine.gpus > 0 if asked is None else asked


def exchange(machine: Machine, asked: bool | None, members: int) -> Exchange | None:
    """How gradients meet; None: they are added on the first device, and then summed over processes.

    On logical devices of a CPU adding is faster, because nothing has to be sent.

    Args:
        machine: the devices of this process; other processes have the same.
        asked: whether one group of all devices is asked for; None: nothing was.
        members: devices of all processes, each with a copy of the variables.
    """
    together = machine.gpus > 0 if asked is None else asked
    if members < 2 or not together:
        return None
    if machine.gpus:
        return Exchange(NCCL, _NCCL_BUCKET)
    return Exchange(AUTO, _RING_BUCKET)


def configure(config: tf.ConfigProto, machine: Machine, count: int, together: bool) -> None:
    """Sets what a session must know of the devices.

    Args:
        config: changed in place.
        machine: the devices of this process.
        count: how many of them compute.
        together: whether devices of this process meet in collectives, and there is no cluster.
    """
    # Two programs may share a GPU.
    config.gpu_options.allow_growth = True
    if machine.gpus:
        # XLA makes ResNet-50 in float16 2.5 times as fast on a GPU; on a CPU it gains nothing.
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    elif count > 1:
        config.device_count["CPU"] = count
    if together:
        config.experimental.collective_group_leader = _LEADER


def cores() -> int:
    """The cores of this machine."""
    return os.cpu_count() or 1
