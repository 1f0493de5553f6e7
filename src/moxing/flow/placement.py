"""Placement scopes: where operations run; on a machine without a GPU all run on its CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine import devices
from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.flow import scope


@dataclass(frozen=True)
class Scope:
    """Where operations run.

    Attributes:
        default_device_tag: "gpu" or "cpu".
        machine_id2device_id_list: device numbers by machine number.
    """

    default_device_tag: str
    machine_id2device_id_list: dict[int, list[int]]

    @property
    def parallel_size(self) -> int:
        """How many devices there are."""
        return sum(len(ids) for ids in self.machine_id2device_id_list.values())


_scopes: list[Scope] = []


def current_scope() -> Scope:
    """The innermost open scope, or that of the machine."""
    if _scopes:
        return _scopes[-1]
    return Scope("gpu" if devices.has_gpu() else "cpu", {0: [0]})


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


@contextmanager
def fixed_placement(device_tag: str, machine_device_ids: str | Sequence[str]) -> Iterator[None]:
    """Operations inside run on these devices.

    Args:
        device_tag: "gpu" or "cpu"; without a GPU both are the CPU.
        machine_device_ids: "0:0", "0:0-3" or a list of those.

    Raises:
        MoxValueError: no such tag or ids.
        MoxNotSupportedError: more than one device.
    """
    if device_tag not in ("gpu", "cpu"):
        raise MoxValueError(f"a device tag is 'gpu' or 'cpu', not {shown(device_tag)}.")
    own = Scope(device_tag, _parse(machine_device_ids))
    if own.parallel_size != 1 or own.machine_id2device_id_list != {0: [0]}:
        raise MoxNotSupportedError(
            f"placement on {shown(machine_device_ids)}: moxing.flow runs on one device, '0:0'."
        )
    _scopes.append(own)
    on_cpu = device_tag == "cpu" and devices.has_gpu() and scope.current() is not None
    try:
        with tf.device("/cpu:0") if on_cpu else nullcontext():
            yield
    finally:
        _scopes.pop()


device_prior_placement = fixed_placement
