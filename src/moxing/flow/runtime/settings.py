"""A session's settings: how many devices and machines it has, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from moxing.cluster import addresses
from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown

_INTS = (
    *("gpu_device_num", "cpu_device_num", "machine_num", "ctrl_port", "data_port", "v"),
    *("start_timeout", "stall_timeout"),  # In seconds; the original has no such settings.
    *("logbuflevel", "comm_net_worker_num", "compute_thread_pool_size", "max_mdsave_worker_num"),
    *("reserved_host_mem_mbyte", "reserved_device_mem_mbyte", "persistence_buf_byte"),
    *("rdma_mem_block_mbyte", "rdma_recv_msg_buf_mbyte"),
)
_BOOLS = (
    *("grpc_use_no_signal", "use_rdma", "save_downloaded_file_to_local_fs", "collect_act_event"),
    *("logtostderr", "enable_numa_aware_cuda_malloc_host", "enable_debug_mode"),
    *("thread_enable_local_message_queue", "enable_thread_local_cache"),
)
# The settings that a session uses; all others are accepted without effect.
_DEFAULTS: dict[str, Any] = {
    **{"gpu_device_num": 1, "machine": [], "ctrl_port": 2017},
    **{"start_timeout": 300, "stall_timeout": 60},
}
_RESOURCE: dict[str, Any] = {
    **{"machine_num": 1, "gpu_device_num": 1, "cpu_device_num": 1, "comm_net_worker_num": 4},
    **{"max_mdsave_worker_num": 64, "use_rdma": False, "rdma_mem_block_mbyte": 8},
    **{"rdma_recv_msg_buf_mbyte": 6, "reserved_host_mem_mbyte": 500},
    **{"reserved_device_mem_mbyte": 500, "enable_numa_aware_cuda_malloc_host": False},
    **{"compute_thread_pool_size": 0, "thread_enable_local_message_queue": False},
    **{"enable_thread_local_cache": True, "enable_debug_mode": False},
}
_EFFECTIVE = (*_DEFAULTS, "machine_num")
_OF_SESSION = ("gpu_device_num", "cpu_device_num", "machine_num")
_LAST_PORT = 65535
_FROM_ONE = ("gpu_device_num", "cpu_device_num", "machine_num", "start_timeout", "stall_timeout")
RESOURCE: dict[str, type] = {
    **dict.fromkeys(_INTS, int),
    **dict.fromkeys(_BOOLS, bool),
    "log_dir": str,
}


def words(kinds: tuple[type, ...]) -> str:
    """Words the types for a message."""
    names = {int: "an int", bool: "a bool", str: "a str", float: "a float", dict: "a dict"}
    return " or ".join(names[kind] for kind in kinds)


def checked(place: str, kinds: tuple[type, ...], value: Any) -> Any:
    """Returns the value of a setting if it has one of these types.

    Raises:
        MoxTypeError: the value has another type.
    """
    value = value.item() if isinstance(value, np.number) else value
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise MoxTypeError(f"{place} takes {words(kinds)}, not {shown(value)}.")
    return value


class Settings:
    """The resources of a session: its devices, its machines, their ports.

    Attributes:
        values: the values that were set, by name.
        fixed: whether the session has started, so that its settings can't change any more.
        met: whether this process has met other machines.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, met: bool = False) -> None:
        self.values = dict(values or {})
        self.fixed = self.met = met

    def renewed(self, later: bool) -> Settings:
        """Returns the settings of the next session, open to changes.

        Args:
            later: whether this session had jobs as from December 2019 on, when the numbers of
                devices and machines were its own. Otherwise all values stay.
        """
        own = _OF_SESSION if later else ()
        return Settings({k: v for k, v in self.values.items() if k not in own}, self.met)

    @property
    def devices(self) -> int:
        """How many devices compute: GPUs, or without one shares of the CPU."""
        return self.values.get("gpu_device_num", 1)

    def resource(self) -> SimpleNamespace:
        """All values as attributes; those that were not set are the original's defaults."""
        count = max(len(self.values.get("machine", [])), 1)
        return SimpleNamespace(
            **{
                **_RESOURCE,
                "machine_num": count,
                "cpu_device_num": self.devices,
                **{name: value for name, value in self.values.items() if name in _RESOURCE},
            }
        )

    def set(self, name: str, value: Any, *, where: str = "flow.config") -> None:
        """Sets one value, checked.

        Args:
            name: the name of the setting.
            value: to set.
            where: the text before the name in the program.

        Raises:
            MoxRuntimeError: a session has started.
            MoxTypeError: wrong type.
            MoxValueError: no such number.
        """
        if type(value) is not RESOURCE[name]:
            raise MoxTypeError(
                f"{where}.{name} takes {words((RESOURCE[name],))}, not {shown(value)}."
            )
        if name in _FROM_ONE and value < 1:
            raise MoxValueError(f"{where}.{name}({value}): it must be 1 or more.")
        if name in ("ctrl_port", "data_port") and not -1 <= value <= _LAST_PORT:
            raise MoxValueError(f"{where}.{name}({value}): a port is a number up to {_LAST_PORT}.")
        self._put(name, value, where)

    def _put(self, name: str, value: Any, where: str) -> None:
        """Keeps a value; once a session has started, only a value that does not change it."""
        known = self.values.get(name, _DEFAULTS.get(name))
        if self.fixed and name in _EFFECTIVE and value != known:
            advice = (
                "With several machines a program has one session"
                if self.met
                else "To change it, call flow.clear_default_session(), and define the jobs again"
            )
            raise MoxRuntimeError(
                f"{where}.{name} was called after the session started; call it before the first"
                f" CheckPoint call and the first job call. {advice}."
            )
        self.values[name] = value

    def set_machines(self, *given: Any, where: str = "flow.config") -> None:
        """`flow.config.machine`: a list, or several addresses; the first is the master."""
        items = list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given
        machines = [_machine(item, f"{where}.machine") for item in items]
        twice = sorted({host for host, port in machines if machines.count((host, port)) > 1})
        if twice:
            raise MoxValueError(f"{where}.machine names {', '.join(twice)} twice.")
        self._put("machine", machines, where)


def _machine(item: Any, where: str) -> tuple[str, int | None]:
    """The host and the port, if it has one, of an address, or a dict with it."""
    address = item.get("addr") if isinstance(item, Mapping) else item
    if not isinstance(address, str) or not address:
        raise MoxTypeError(f"{where} takes addresses, or dicts with addr, not {shown(item)}.")
    port = item.get("ctrl_port_agent") if isinstance(item, Mapping) else None
    if port is not None:
        return address, checked(f"ctrl_port_agent of {where}", (int,), port)
    if address.count(":") == 1 or address.startswith("["):
        return addresses.split(address, where)
    return address, None
