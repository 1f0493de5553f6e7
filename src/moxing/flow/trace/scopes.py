"""Placement scopes: where operations run; without a GPU devices are shares of the CPU.

A scope of several machines names the same devices of all of them. In a scope of a single device,
each machine computes the same values on its device of that number, so that later operations have
the values on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices
from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.flow.trace import context
from moxing.flow.trace.topology import Topology


@dataclass(frozen=True)
class ParallelConf:
    """Devices by the original's names: `device_name` has `machine:tag:first-last` items."""

    device_name: list[str]


@dataclass(frozen=True)
class Scope:
    """The devices on which operations run.

    Attributes:
        default_device_tag: "gpu" or "cpu".
        machine_id2device_id_list: device numbers by machine number.
    """

    default_device_tag: str
    machine_id2device_id_list: dict[int, list[int]]

    @property
    def parallel_size(self) -> int:
        """The number of devices."""
        return sum(len(ids) for ids in self.machine_id2device_id_list.values())

    @property
    def parallel_conf(self) -> ParallelConf:
        """The devices by their names, such as `0:gpu:0-3`; `0:cpu:1` for one device alone."""
        names = []
        for machine, ids in self.machine_id2device_id_list.items():
            for first, last in _runs(ids):
                numbers = f"{first}-{last}" if last > first else str(first)
                names.append(f"{machine}:{self.default_device_tag}:{numbers}")
        return ParallelConf(names)


_scopes: list[Scope] = []


def _runs(ids: Sequence[int]) -> list[list[int]]:
    """The first and the last of each series of successive numbers."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def current_scope(topology: Topology | None = None) -> Scope:
    """The innermost open scope, or else the scope of all devices.

    Args:
        topology: the session's topology; default: the topology of the job that is being traced.
    """
    if _scopes:
        return _scopes[-1]
    known = topology or _topology()
    tag = "gpu" if devices.has_gpu() else "cpu"
    return Scope(tag, {machine: list(range(known.devices)) for machine in range(known.machines)})


def _topology() -> Topology:
    return context.required("a placement scope").topology


def machines() -> int:
    """How many machines train together."""
    return _topology().machines


def total() -> int:
    """The number of devices of the current scope, on all machines."""
    return current_scope().parallel_size


def first() -> int:
    """The number of this machine's first device among all of the current scope."""
    return _topology().index * len(active()) if spread() else 0


def spread() -> bool:
    """Whether the current scope has devices of every machine."""
    return len(current_scope().machine_id2device_id_list) == machines()


def owner() -> int:
    """The first machine of the current scope."""
    return min(current_scope().machine_id2device_id_list)


def active() -> tuple[str, ...]:
    """TensorFlow's names of this machine's devices of the current scope."""
    current = current_scope()
    ids = next(iter(current.machine_id2device_id_list.values()))
    if not devices.has_gpu():
        # A scope of "cpu" may name more devices than the session has.
        return tuple(f"/device:CPU:{number % _topology().devices}" for number in ids)
    # TensorFlow has one CPU device, also beside GPUs.
    return tuple(
        f"/device:GPU:{n}" if current.default_device_tag == "gpu" else "/cpu:0" for n in ids
    )


def _parse(ids: str | Sequence[str]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for item in [ids] if isinstance(ids, str) else ids:
        machine, _, numbers = str(item).partition(":")
        first, _, last = numbers.partition("-")
        try:
            found.setdefault(int(machine), []).extend(range(int(first), int(last or first) + 1))
        except ValueError:
            raise MoxValueError(
                f"{shown(ids)} names no devices: write machine:device, as '0:0' or '0:0-3'."
            ) from None
    return found


def _ids(own: Scope, given: Any, count: int | None) -> list[int]:
    """The numbers of a scope's devices on each of its machines; `count` machines, if known."""
    of_machines = own.machine_id2device_id_list
    if count is not None and max(of_machines) >= count:
        raise MoxValueError(
            f"placement on {shown(given)}: machine {max(of_machines)} is not among the {count}"
            " of flow.config.machine, which count from 0."
        )
    ids = next(iter(of_machines.values()))
    alike = all(numbers == ids for numbers in of_machines.values())
    if context.current() is not None and not (
        own.parallel_size == 1 or (alike and len(of_machines) == count)
    ):
        raise MoxNotSupportedError(
            f"placement on {shown(given)}: with {count} machines, a scope names one device, or"
            " the same devices of every machine."
        )
    return ids


@contextmanager
def entered(
    device_tag: str, machine_device_ids: str | Sequence[str], machines: int | None
) -> Iterator[None]:
    """Opens the scope that `fixed_placement` describes.

    Args:
        device_tag: "gpu" or "cpu".
        machine_device_ids: "0:0", "0:0-3" or a list of those. On "cpu" any number of devices, as
            the original had one for each hardware thread.
        machines: the number of machines; None if it is not known yet.

    Raises:
        MoxValueError: the tag or the ids are not valid, or there are no such devices or machines.
        MoxNotSupportedError: the scope has several devices of only some machines.
    """
    if device_tag not in ("gpu", "cpu"):
        raise MoxValueError(f"a device tag is 'gpu' or 'cpu', not {shown(device_tag)}.")
    own = Scope(device_tag, _parse(machine_device_ids))
    trace = context.current()
    ids = _ids(own, machine_device_ids, machines if trace is None else trace.topology.machines)
    if not ids or len(set(ids)) < len(ids):
        raise MoxValueError(f"{shown(machine_device_ids)} names no device, or one twice.")
    if trace is not None and device_tag == "gpu" and max(ids) >= trace.topology.devices:
        raise MoxValueError(
            f"placement on {shown(machine_device_ids)}: device {max(ids)} is not among the"
            f" {trace.topology.devices} of flow.config.gpu_device_num, which count from 0."
        )
    _scopes.append(own)
    on_cpu = device_tag == "cpu" and devices.has_gpu()
    placed = trace is not None and (on_cpu or trace.topology.devices > 1)
    try:
        # An operation that needs its blobs whole runs on the first device.
        with tf.device(active()[0]) if placed else nullcontext():
            yield
    finally:
        _scopes.pop()
