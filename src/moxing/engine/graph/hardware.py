"""Decides, from a description of a process's devices, how a run uses them.

All decisions that depend on a GPU are made here: copies of variables, collectives, XLA. Since they
need only a description, a test on any machine can ask for the decisions for eight GPUs. `devices`
describes the actual machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import tensorflow.compat.v1 as tf

from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError

NCCL: Final = "nccl"
# TensorFlow's own choice, which never is NCCL.
AUTO: Final = "auto"
_LEADER = "/job:localhost/replica:0/task:0"
# Gradients of fewer bytes share a message. On GPUs a message of NCCL costs a launch on every
# device; messages of this size reach its full bandwidth, and the first of them is full long before
# back-propagation ends.
_NCCL_BUCKET = 16 * 1024 * 1024
_RING_BUCKET = 2 * 1024 * 1024
# TensorFlow keeps strings, and most tensors of int32, in the host's memory.
_IN_GPU_MEMORY = frozenset(
    (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.uint8, tf.int64, tf.bool)
)
# The share of operations with changing shapes above which XLA compiles more than it gains.
_UNSTEADY = 0.5
# Bytes of a variable that XLA would copy in each step: a twentieth of a millisecond on a GPU.
_TABLE = 64 * 1024 * 1024


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
        hint: the implementation of the collectives: `communication_hint` of their operations.
        bucket: gradients of fewer bytes share a message, which has at most this number of bytes.
    """

    hint: str
    bucket: int


@dataclass(frozen=True)
class Work:
    """The part of a step that XLA would compile.

    Attributes:
        computed: how many operations compute floating-point numbers of the step's input.
        unsteady: how many of them give other shapes in each step.
        example: the first of these, and the line of the program that made it.
        table: the bytes of the largest variable of which a step changes single rows.
    """

    computed: int = 0
    unsteady: int = 0
    example: str = ""
    table: int = 0


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
    """Whether each device has a copy of the variables: by the choice of the user, or by speed.

    Args:
        machine: the devices. Logical devices on a CPU share its memory, and compute faster with one
            set of variables.
        asked: the choice of the user; None: the user made none.
    """
    return machine.gpus > 0 if asked is None else asked


def exchange(machine: Machine, asked: bool | None, members: int) -> Exchange | None:
    """How gradients meet; None: they are added on the first device, and then summed over processes.

    On logical devices of a CPU adding is faster, because nothing has to be sent.

    Args:
        machine: the devices of this process; other processes have the same.
        asked: whether the user chose one group of all devices; None: the user made no choice.
        members: devices of all processes, each with a copy of the variables.
    """
    together = machine.gpus > 0 if asked is None else asked
    if members < 2 or not together:
        return None
    if machine.gpus:
        return Exchange(NCCL, _NCCL_BUCKET)
    return Exchange(AUTO, _RING_BUCKET)


def takes_ahead(machine: Machine, count: int, types: Collection[tf.DType]) -> tuple[str, ...]:
    """The names of the devices to which batches are copied before their step; empty: none are.

    Args:
        machine: the devices of this process; those of a CPU have the host's memory.
        count: how many devices compute.
        types: the types of the tensors in a batch.
    """
    return names(machine, count) if machine.gpus and _IN_GPU_MEMORY.issuperset(types) else ()


def configure(config: tf.ConfigProto, machine: Machine, count: int, together: bool) -> None:
    """Sets the options of a session, or of a server, that depend on the devices.

    Args:
        config: changed in place.
        machine: the devices of this process.
        count: how many of them compute.
        together: whether devices of this process meet in collectives, and there is no cluster.
    """
    # Two programs may share a GPU.
    config.gpu_options.allow_growth = True
    if not machine.gpus and count > 1:
        config.device_count["CPU"] = count
    if together:
        config.experimental.collective_group_leader = _LEADER


def against_xla(machine: Machine, work: Work) -> str | None:
    """Why XLA is not used for a step; None: XLA makes the step faster.

    XLA made ResNet-50 in float16 2.5 times as fast on a GPU; on a CPU it gains nothing.
    """
    if not machine.gpus:
        return "there is no GPU"
    if work.unsteady > _UNSTEADY * work.computed:
        return (
            f"{work.unsteady} of {work.computed} operations have other shapes in each step, such as"
            f" {work.example}, and each shape would be compiled"
        )
    if work.table > _TABLE:
        return (
            f"steps change rows of a variable of {work.table / 1e6:,.0f} MB, all of which XLA would"
            " copy in each step"
        )
    return None


def compile_with_xla(config: tf.ConfigProto) -> None:
    """Has a session compile the operations of a graph that XLA can compile, in clusters."""
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1


def cores() -> int:
    """The cores of this machine."""
    return os.cpu_count() or 1
