"""`flow.config`, `flow.env` and `FunctionConfig`: what users say of the machine and of a job."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.cluster import addresses
from moxing.errors import (
    MoxAttributeError,
    MoxNotSupportedError,
    MoxRuntimeError,
    MoxTypeError,
    MoxValueError,
    near_matches,
    shown,
)
from moxing.flow import tracing

if TYPE_CHECKING:
    from moxing.flow.exchange import Exchange

_INTS = (
    *("gpu_device_num", "cpu_device_num", "machine_num", "ctrl_port", "data_port", "v"),
    *("start_timeout", "stall_timeout"),  # Seconds; the original waits as it likes.
    *("logbuflevel", "comm_net_worker_num", "compute_thread_pool_size", "max_mdsave_worker_num"),
    *("reserved_host_mem_mbyte", "reserved_device_mem_mbyte", "persistence_buf_byte"),
    *("rdma_mem_block_mbyte", "rdma_recv_msg_buf_mbyte"),
)
_BOOLS = (
    *("grpc_use_no_signal", "use_rdma", "save_downloaded_file_to_local_fs", "collect_act_event"),
    *("logtostderr", "enable_numa_aware_cuda_malloc_host", "enable_debug_mode"),
)
# The values that a session is built by; all others are accepted without effect.
_DEFAULTS: dict[str, Any] = {
    **{"gpu_device_num": 1, "machine": [], "ctrl_port": 2017},
    **{"start_timeout": 300, "stall_timeout": 60},
}
_EFFECTIVE = (*_DEFAULTS, "machine_num")
_FROM_ONE = ("gpu_device_num", "cpu_device_num", "machine_num", "start_timeout", "stall_timeout")
RESOURCE: dict[str, type] = {
    **dict.fromkeys(_INTS, int),
    **dict.fromkeys(_BOOLS, bool),
    "log_dir": str,
}

_JOB_BOOLS = (
    *("enable_inplace", "enable_cudnn", "enable_nccl", "use_nccl_inter_node_communication"),
    *("use_boxing_v2", "disable_all_reduce_sequence", "enable_non_distributed_optimizer"),
    *("enable_auto_mixed_precision", "use_memory_allocation_algorithm_v2", "enable_reused_mem"),
    *(
        "enable_reuse_mem",
        "cudnn_conv_use_deterministic_algo_only",
        "enable_cudnn_conv_pseudo_half",
    ),
    *("cudnn_conv_enable_true_half", "cudnn_conv_heuristic_search_algo", "enable_float_compute"),
    *(
        "all_reduce_fp16",
        "enable_all_reduce_group",
        "enable_fuse_add_to_output",
        "enable_keep_header_only",
    ),
    *(
        "use_xla_jit",
        "use_tensorrt",
        "prune_parallel_cast_ops",
        "prune_cast_to_static_shape_ops",
        "prune_amp_white_identity_ops",
        "cudnn_conv_enable_pseudo_half",
        "enable_float_compute_for_half_gemm",
        "allow_cpu_return_op",
        "enable_true_half_config_when_conv",
    ),
)
_JOB_INTS = (
    *("cudnn_conv_force_fwd_algo", "cudnn_conv_force_bwd_data_algo"),
    "cudnn_conv_force_bwd_filter_algo",
    *("total_batch_num", "concurrency_width", "all_reduce_group_num", "cudnn_buf_limit_mbyte"),
    *("all_reduce_group_min_mbyte", "non_distributed_optimizer_group_size_mbyte"),
)
_JOB_FLOATS = ("all_reduce_lazy_ratio", "all_reduce_group_size_warmup")
KNOBS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_JOB_BOOLS, (bool,)),
    **dict.fromkeys(_JOB_INTS, (int,)),
    **dict.fromkeys(_JOB_FLOATS, (float, int)),
}
_TRAIN: dict[str, tuple[type, ...]] = {
    "primary_lr": (float, int),
    "secondary_lr": (float, int),
    "model_update_conf": (dict,),
    "weight_l1": (float, int),
    "weight_l2": (float, int),
    "bias_l1": (float, int),
    "bias_l2": (float, int),
    "loss_scale_factor": (float, int),
    "num_gradient_accumulation_steps": (int,),
}


KINDS = ("train", "predict")
DATA_TYPES = (
    *(tf.float32, tf.float64, tf.float16),
    *(tf.int8, tf.uint8, tf.int32, tf.int64),
)


class JobConf:
    """What is set of one job; the values are plain.

    Attributes:
        values: by name.
        train: what is set of training.
        kind: "train" or "predict", where the program says it outright.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.train: dict[str, Any] = {}
        self.kind: str | None = None

    def copy(self) -> JobConf:
        """A conf of its own with the same values."""
        other = JobConf()
        other.values, other.train = copy.deepcopy(self.values), copy.deepcopy(self.train)
        other.kind = self.kind
        return other

    @property
    def is_train(self) -> bool:
        """Whether the job updates its variables."""
        return bool(self.train) if self.kind is None else self.kind == "train"

    @property
    def default_data_type(self) -> tf.DType:
        """The data type of variables that name none."""
        return self.values.get("default_data_type", tf.float32)


class Machine:
    """Resources of the process; fixed when the first session starts.

    Attributes:
        values: what was set, by name.
        started: whether a session has started.
        exchange: what graphs do with the other machines; None: there are none.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.started = False
        self.exchange: Exchange | None = None

    @property
    def devices(self) -> int:
        """How many devices compute: GPUs, or without one shares of the CPU."""
        return self.values.get("gpu_device_num", 1)

    def set(self, name: str, value: Any, *, where: str = "flow.config") -> None:
        """Sets one value, checked.

        Args:
            name: of the setting.
            value: to set.
            where: what the program says before the name.

        Raises:
            MoxRuntimeError: a session has started.
            MoxTypeError: wrong type.
            MoxValueError: no such number.
        """
        if type(value) is not RESOURCE[name]:
            raise MoxTypeError(
                f"{where}.{name} takes {_words((RESOURCE[name],))}, not {shown(value)}."
            )
        if name in _FROM_ONE and value < 1:
            raise MoxValueError(f"{where}.{name}({value}): it must be 1 or more.")
        self._put(name, value, where)

    def _put(self, name: str, value: Any, where: str) -> None:
        """Keeps a value; once a session has started only one that changes nothing of it."""
        known = self.values.get(name, _DEFAULTS.get(name))
        if self.started and name in _EFFECTIVE and value != known:
            many = self.exchange is not None and self.exchange.size > 1
            advice = (
                "With several machines a program has one session"
                if many
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
        return address, _checked(f"ctrl_port_agent of {where}", (int,), port)
    if address.count(":") == 1 or address.startswith("["):
        return addresses.split(address, where)
    return address, None


MACHINE = Machine()
DEFAULTS = JobConf()


def _words(kinds: tuple[type, ...]) -> str:
    names = {int: "an int", bool: "a bool", str: "a str", float: "a float", dict: "a dict"}
    return " or ".join(names[kind] for kind in kinds)


def _checked(place: str, kinds: tuple[type, ...], value: Any) -> Any:
    value = value.item() if isinstance(value, np.number) else value
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise MoxTypeError(f"{place} takes {_words(kinds)}, not {shown(value)}.")
    return value


class _Train:
    """`config.train`: calling anything of it makes a job a train job."""

    def __init__(self, owner: _JobLevel) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _TRAIN:
            raise MoxAttributeError(
                f"flow.config.train has no {name!r}.{near_matches(name, _TRAIN)}", name=name
            )

        def setter(value: Any = 1) -> Any:
            place = f"flow.config.train.{name}"
            checked = _checked(place, _TRAIN[name], value)
            if name == "num_gradient_accumulation_steps" and checked != 1:
                raise MoxNotSupportedError(
                    f"{place}({checked}) is not offered. Call the job with a batch {checked} times"
                    " as large: losses are means over the whole batch."
                )
            self._owner.target(place, train=True).train[name] = checked
            return self._owner

        return setter


class _JobLevel:
    """Setters of one job's conf."""

    def __init__(self) -> None:
        self.train = _Train(self)
        self.static_mem_alloc_policy_white_list = _Allowed()

    def target(self, place: str, train: bool = False) -> JobConf:
        raise NotImplementedError

    def put(self, place: str, name: str, value: Any) -> None:
        """Sets one value of the conf that `target` finds."""
        self.target(place).values[name] = value

    def default_data_type(self, value: Any) -> Any:
        """The data type of variables that name none, such as flow.float or flow.double."""
        try:
            kind = tf.as_dtype(value)
        except TypeError:
            kind = None
        if kind not in DATA_TYPES:
            raise MoxTypeError(
                "flow.config.default_data_type takes a type such as flow.float, flow.double or"
                f" flow.int32, not {shown(value)}."
            )
        self.put("flow.config.default_data_type", "default_data_type", kind)
        return self

    def default_initializer_conf(self, value: dict[str, Any]) -> Any:
        """The initializer of variables that name none."""
        from moxing.flow import initializers

        initializers.from_conf(value)
        self.put("flow.config.default_initializer_conf", "initializer", value)
        return self

    def default_distribute_strategy(self, value: Any) -> Any:
        """How blobs lie on several devices; on one device all strategies are one."""
        self.put("default_distribute_strategy", "strategy", value)
        return self

    default_logical_view = default_distribute_strategy

    def default_placement_scope(self, value: Any) -> Any:
        """Where operations run that name no place."""
        self.put("default_placement_scope", "placement", value)
        return self

    def knob(self, name: str, values: tuple[Any, ...]) -> Any:
        """A switch of the original's tuning: its type is checked, and it has no effect."""
        value = values[0] if values else True
        _checked(f"flow.config.{name}", KNOBS[name], value)
        self.put(f"flow.config.{name}", name, value)
        return self


class FunctionConfig(_JobLevel):
    """What `@flow.function(config)` and `@flow.global_function(config)` take."""

    def __init__(self) -> None:
        super().__init__()
        self.conf = JobConf()

    def target(self, place: str, train: bool = False) -> JobConf:
        return self.conf

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in KNOBS:
            return lambda *values: self.knob(name, values)
        raise MoxAttributeError(
            f"FunctionConfig has no {name!r}.{near_matches(name, KNOBS)}", name=name
        )


class _Allowed:
    """`config.static_mem_alloc_policy_white_list`: accepted, without effect."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in (
            "has",
            "add",
            "remove",
            "policy_mem_size_first",
            "policy_mutual_exclusion_first",
        ):
            raise AttributeError(name)
        return lambda *_: None


class Config(_JobLevel):
    """`flow.config`: inside a job it speaks of that job, else of all jobs and of the machine."""

    def target(self, place: str, train: bool = False) -> JobConf:
        trace = tracing.current()
        if trace is None:
            if train:
                raise MoxRuntimeError(
                    f"{place} was called outside a job, where it would change nothing. Call it"
                    " first thing in the body of the train job."
                )
            from moxing.flow import session

            session.require_open(place)
            return DEFAULTS
        if trace.started:
            raise MoxRuntimeError(
                f"{place} was called behind the first operation of job {trace.name}. Move it to"
                " the beginning of the job's body."
            )
        if train and trace.conf.kind == "predict":
            raise MoxRuntimeError(
                f"{place} was called in job {trace.name}, which @flow.global_function makes a"
                " predict job. Give it type='train', or no type."
            )
        return trace.conf

    def put(self, place: str, name: str, value: Any) -> None:
        """Sets a value; outside a job one that changes nothing is welcome at any time."""
        idle = name in KNOBS or (name in DEFAULTS.values and DEFAULTS.values[name] == value)
        if tracing.current() is None and MACHINE.started and idle:
            return
        super().put(place, name, value)

    def machine(self, *machines: Any) -> None:
        """Addresses of all machines."""
        MACHINE.set_machines(*machines)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in RESOURCE:
            default = (True,) if RESOURCE[name] is bool else ()
            return lambda *value: MACHINE.set(name, *(value or default))
        if name in KNOBS:
            return lambda *values: self.knob(name, values)
        raise MoxAttributeError(
            f"flow.config has no {name!r}.{near_matches(name, [*RESOURCE, *KNOBS])}", name=name
        )


class Env:
    """`flow.env`: the machine's setters under their later name."""

    def machine(self, *machines: Any) -> None:
        """Addresses of all machines."""
        MACHINE.set_machines(*machines, where="flow.env")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in RESOURCE:
            raise MoxAttributeError(
                f"flow.env has no {name!r}.{near_matches(name, RESOURCE)}", name=name
            )
        default = (True,) if RESOURCE[name] is bool else ()
        return lambda *value: MACHINE.set(name, *(value or default), where="flow.env")


config = Config()
env = Env()
