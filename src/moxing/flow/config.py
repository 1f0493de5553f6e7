"""`flow.config`, `flow.env` and `FunctionConfig`: the settings of sessions and jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import (
    MoxAttributeError,
    MoxRuntimeError,
    MoxTypeError,
    MoxValueError,
    near_matches,
    shown,
)
from moxing.flow import absent
from moxing.flow.runtime import session
from moxing.flow.runtime.settings import RESOURCE, checked
from moxing.flow.trace import context, initializers
from moxing.flow.trace.conf import DATA_TYPES, FunctionDesc, JobConf
from moxing.logs import TENSORFLOW

_JOB_BOOLS = (
    *("enable_inplace", "enable_cudnn", "enable_nccl", "use_nccl_inter_node_communication"),
    *("use_boxing_v2", "disable_all_reduce_sequence", "enable_non_distributed_optimizer"),
    *("enable_auto_mixed_precision", "use_memory_allocation_algorithm_v2", "enable_reused_mem"),
    *(
        "enable_reuse_mem",
        "enable_mem_sharing",
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
        *("enable_true_half_config_when_conv", "do_parallel_cast_before_widening_type_cast"),
        *("enable_inplace_in_reduce_struct", "cudnn_conv_enable_true_half"),
        *("enable_nccl_hierarchical_all_reduce", "enable_cuda_ring_all_reduce"),
    ),
)
_JOB_INTS = (
    *("cudnn_conv_force_fwd_algo", "cudnn_conv_force_bwd_data_algo"),
    *("cudnn_conv_force_bwd_filter_algo", "max_data_id_length", "piece_size"),
    *("total_batch_num", "concurrency_width", "all_reduce_group_num", "cudnn_buf_limit_mbyte"),
    *("all_reduce_group_min_mbyte", "non_distributed_optimizer_group_size_mbyte"),
)
_JOB_FLOATS = ("all_reduce_lazy_ratio", "all_reduce_group_size_warmup")
KNOBS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_JOB_BOOLS, (bool,)),
    **dict.fromkeys(_JOB_INTS, (int,)),
    **dict.fromkeys(_JOB_FLOATS, (float, int)),
    # Names embeddings whose gradients the original keeps as rows.
    "indexed_slices_optimizer_conf": (dict,),
    "exp_run_conf": (dict,),
}
_BOXING: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        (
            *("nccl_fusion_threshold_mb", "nccl_fusion_max_ops", "nccl_num_streams"),
            "num_callback_threads",
        ),
        (int,),
    ),
    **dict.fromkeys(
        (
            *("enable_fusion", "nccl_fusion_all_reduce", "nccl_fusion_all_reduce_use_buffer"),
            *("nccl_fusion_reduce", "nccl_fusion_reduce_scatter", "nccl_fusion_all_gather"),
            "nccl_fusion_broadcast",
        ),
        (bool,),
    ),
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
    "batch_size": (int,),
    "num_gradient_accumulation_steps": (int,),
}


class _Train:
    """`config.train`: a call of any of its methods makes a job a train job."""

    def __init__(self, owner: _JobLevel) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _TRAIN:
            raise MoxAttributeError(
                f"flow.config.train has no {name!r}.{near_matches(name, _TRAIN)}", name=name
            )

        def setter(value: Any = 1) -> Any:
            place = f"flow.config.train.{name}"
            given = checked(place, _TRAIN[name], value)
            if isinstance(given, float) and not math.isfinite(given):
                raise MoxValueError(f"{place}({given}): give a finite number.")
            if name in ("num_gradient_accumulation_steps", "batch_size") and given < 1:
                raise MoxValueError(f"{place}({given}): it must be 1 or more.")
            self._owner.target(place, train=True).train[name] = given
            return self._owner

        return setter


class _JobLevel:
    """Setters of one job's conf."""

    def __init__(self) -> None:
        self.train = _Train(self)
        self.static_mem_alloc_policy_white_list = _Allowed()
        self.static_mem_alloc_algo_white_list = _Allowed()
        self.tensorrt = _TensorRT(self)

    def target(self, place: str, train: bool = False) -> JobConf:
        raise NotImplementedError

    def put(self, place: str, name: str, value: Any) -> None:
        """Sets one value of the conf that `target` finds."""
        self.target(place).values[name] = value

    def default_data_type(self, value: Any) -> Any:
        """The default data type of variables, such as flow.float or flow.double."""
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
        """The default initializer of variables."""
        initializers.from_conf(value)
        self.put("flow.config.default_initializer_conf", "initializer", value)
        return self

    def default_distribute_strategy(self, value: Any) -> Any:
        """The layout of blobs on several devices; on one device all strategies are equal."""
        self.put("default_distribute_strategy", "strategy", value)
        return self

    default_logical_view = default_distribute_strategy

    def default_placement_scope(self, value: Any) -> Any:
        """The default placement of operations."""
        self.put("default_placement_scope", "placement", value)
        return self

    def knob(self, name: str, value: Any) -> Any:
        """A switch of the original's tuning: its type is checked, and it has no effect.

        `piece_size` has one: it is the batch size of `decode_ofrecord` calls without theirs.
        """
        given = checked(f"flow.config.{name}", KNOBS[name], value)
        if name == "piece_size" and given < 1:
            raise MoxValueError(f"flow.config.piece_size({given}): it must be 1 or more.")
        self.put(f"flow.config.{name}", name, value)
        return self


class FunctionConfig(_JobLevel):
    """The settings of a job, for `@flow.function` and `@flow.global_function`."""

    def __init__(self) -> None:
        super().__init__()
        self.conf = JobConf()
        self.conf.later = True

    @property
    def function_desc(self) -> FunctionDesc:
        """The settings made so far, to read."""
        return FunctionDesc(self.conf)

    def target(self, place: str, train: bool = False) -> JobConf:
        return self.conf

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in KNOBS:
            return lambda value=True: self.knob(name, value)
        raise _unknown("FunctionConfig", name, KNOBS)


class _Boxing:
    """`config.collective_boxing`: how the original fuses sums over GPUs; without effect here."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in _BOXING:
            raise MoxAttributeError(
                f"flow.config.collective_boxing has no {name!r}.{near_matches(name, _BOXING)}",
                name=name,
            )

        def setter(val: Any = True) -> None:
            checked(f"flow.config.collective_boxing.{name}", _BOXING[name], val)

        return setter


class _Allowed:
    """`config.static_mem_alloc_policy_white_list`: accepted, without effect."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in (
            "has",
            "add",
            "remove",
            "policy_mem_size_first",
            "policy_mutual_exclusion_first",
            "policy_time_line",
            "show",
        ):
            raise AttributeError(name)
        return lambda *_: None


class Config(_JobLevel):
    """`flow.config`: in a job it sets that job's values, else all jobs' and the machine's."""

    def __init__(self) -> None:
        super().__init__()
        self.collective_boxing = _Boxing()

    def target(self, place: str, train: bool = False) -> JobConf:
        trace = context.current()
        if trace is None:
            if train:
                raise MoxRuntimeError(
                    f"{place} was called outside a job, where it would change nothing. Call it"
                    " first thing in the body of the train job, a function with @flow.function."
                )
            session.require_open(place)
            return session.default().defaults
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
        """Sets a value; outside a job, a value that changes nothing may be set at any time."""
        known = session.default().defaults.values
        idle = name in KNOBS or (name in known and known[name] == value)
        if context.current() is None and session.default().started and idle:
            return
        super().put(place, name, value)

    def machine(self, *machines: Any) -> None:
        """Addresses of all machines."""
        session.default().settings.set_machines(*machines)

    def load_library(self, val: str) -> None:
        """Accepted without effect: a library of the original's operations can't run here."""
        if not isinstance(val, str):
            raise MoxTypeError(f"flow.config.load_library takes a path, not {shown(val)}.")
        TENSORFLOW.warning(
            "flow.config.load_library(%r) has no effect: operations of a library are not offered.",
            val,
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in RESOURCE:
            return _setter(name, "flow.config")
        if name in KNOBS:
            return lambda value=True: self.knob(name, value)
        raise _unknown("flow.config", name, [*RESOURCE, *KNOBS])


def _unknown(owner: str, name: str, known: Iterable[str]) -> MoxAttributeError:
    if name in absent.CONFIG:
        told = f"{owner}.{name} is not offered; use {absent.CONFIG[name]}."
    else:
        told = f"{owner} has no {name!r}.{near_matches(name, known)}"
    return MoxAttributeError(told, name=name)


class _TensorRT:
    """`config.tensorrt`: accepted, without effect."""

    def __init__(self, owner: _JobLevel) -> None:
        self._owner = owner

    def use_fp16(self, value: bool = True) -> Any:
        """Without effect."""
        checked("flow.config.tensorrt.use_fp16", (bool,), value)
        return self._owner

    use_int8 = use_fp16


def _setter(name: str, where: str) -> Callable[..., None]:
    """The setter of a resource; a switch is turned on by a call without a value."""

    def on(val: Any = True) -> None:
        session.default().settings.set(name, val, where=where)

    def given(val: Any) -> None:
        session.default().settings.set(name, val, where=where)

    setter = on if RESOURCE[name] is bool else given
    setter.__name__ = name
    return setter


class Env:
    """`flow.env`: the machine's setters under their later name."""

    def init(self) -> bool:
        """True: the environment starts with the session."""
        return True

    def current_resource(self) -> SimpleNamespace:
        """The devices and machines of the session, and the other settings, as attributes."""
        return session.default().settings.resource()

    def machine(self, *machines: Any) -> None:
        """Addresses of all machines."""
        session.default().settings.set_machines(*machines, where="flow.env")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in RESOURCE:
            raise MoxAttributeError(
                f"flow.env has no {name!r}.{near_matches(name, RESOURCE)}", name=name
            )
        return _setter(name, "flow.env")


config = Config()
env = Env()
