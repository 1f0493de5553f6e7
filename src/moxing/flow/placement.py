"""Placement scopes: where operations run; without a GPU devices are shares of the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ContextDecorator, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import devices
from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.flow import scope
from moxing.flow.settings import MACHINE


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
    return Scope("gpu" if devices.has_gpu() else "cpu", {0: list(range(MACHINE.devices))})


def active() -> tuple[str, ...]:
    """TensorFlow's names of the devices of the current scope."""
    current = current_scope()
    ids = [number for numbers in current.machine_id2device_id_list.values() for number in numbers]
    if not devices.has_gpu():
        return tuple(f"/device:CPU:{number}" for number in ids)
    # There is one CPU beside GPUs.
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


@contextmanager
def _entered(device_tag: str, machine_device_ids: str | Sequence[str]) -> Iterator[None]:
    """Opens the scope that `fixed_placement` describes.

    Raises:
        MoxValueError: no such tag, ids or devices.
        MoxNotSupportedError: another machine.
    """
    if device_tag not in ("gpu", "cpu"):
        raise MoxValueError(f"a device tag is 'gpu' or 'cpu', not {shown(device_tag)}.")
    own = Scope(device_tag, _parse(machine_device_ids))
    if set(own.machine_id2device_id_list) != {0}:
        raise MoxNotSupportedError(
            f"placement on {shown(machine_device_ids)}: moxing.flow runs on one machine, number 0."
        )
    ids = own.machine_id2device_id_list[0]
    if not ids or len(set(ids)) < len(ids):
        raise MoxValueError(f"{shown(machine_device_ids)} names no device, or one twice.")
    if scope.current() is not None and max(ids) >= MACHINE.devices:
        raise MoxValueError(
            f"placement on {shown(machine_device_ids)}: device {max(ids)} is not among the"
            f" {MACHINE.devices} of flow.config.gpu_device_num, which count from 0."
        )
    _scopes.append(own)
    on_cpu = device_tag == "cpu" and devices.has_gpu()
    placed = scope.current() is not None and (on_cpu or MACHINE.devices > 1)
    try:
        # What needs its blobs whole runs on the first.
        with tf.device(active()[0]) if placed else nullcontext():
            yield
    finally:
        _scopes.pop()


class fixed_placement(ContextDecorator):  # noqa: N801
    """A block whose operations run on these devices; it may be entered again.

    Args:
        device_tag: "gpu" or "cpu"; without a GPU both are the CPU.
        machine_device_ids: "0:0", "0:0-3" or a list of those.
    """

    def __init__(self, device_tag: str, machine_device_ids: str | Sequence[str]) -> None:
        self._given, self._blocks = (device_tag, machine_device_ids), []

    def __enter__(self) -> None:
        self._blocks.append(_entered(*self._given))
        self._blocks[-1].__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._blocks.pop().__exit__(*error)


device_prior_placement = fixed_placement
