"""The runtime flags of openmox: their names, types, defaults and bounds, in one frozen table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class FlagSpec:
    """One runtime flag.

    Attributes:
        name: the name on the command line.
        kind: "string", "integer", "float" or "boolean".
        default: the value if the flag is not given.
        help: one line.
        only: the values that this version can run with; None if any value.
        least, most: bounds of a number, both included; None for no bound.
    """

    name: str
    kind: str
    default: Any
    help: str
    only: tuple[Any, ...] | None = None
    least: int | None = None
    most: int | None = None


_MOST_THREADS = 4096
_MOST_DEVICES = 64
_MOST_BATCHES = 1 << 20
_INT64 = 1 << 63

# MoXing's names for a copy of the variables on every device.
REPLICATED: Final = (
    *("replicated", "replicated_host", "distributed_replicated", "distributed_replicated_mix"),
    "collective",
)
# MoXing's name for deep gradient compression.
COMPRESSED: Final = "distributed_replicated_dgc"
# Tries the placements, and keeps the fastest.
AUTO: Final = "auto"
CLUSTER_FLAGS: Final = ("job_name", "task_index", "ps_hosts", "worker_hosts")

TABLE: Final[tuple[FlagSpec, ...]] = (
    FlagSpec(
        "num_gpus",
        "integer",
        1,
        "Devices of this process; 0: its CPU.",
        least=0,
        most=_MOST_DEVICES,
    ),
    FlagSpec("job_name", "string", "", "Role of this process: ps or worker; empty: alone."),
    FlagSpec("task_index", "integer", 0, "Index of this process within its role.", least=0),
    FlagSpec("ps_hosts", "string", "", "Parameter servers, host:port, comma-separated."),
    FlagSpec("worker_hosts", "string", "", "Workers, host:port, comma-separated."),
    FlagSpec("sync_replicas", "boolean", True, "Whether workers update together."),
    FlagSpec(
        "variable_update",
        "string",
        None,
        "Where variables live and gradients meet.",
        (None, "", "parameter_server", *REPLICATED, COMPRESSED, AUTO),
    ),
    FlagSpec("compress_gradients", "boolean", False, "Send gradients to other workers as float16."),
    FlagSpec(
        "session_timeout", "integer", 0, "Seconds to wait for other processes; 0: 300.", least=0
    ),
    FlagSpec(
        "stall_timeout",
        "integer",
        60,
        "Seconds of a process's silence that end its job, or of a step after which a line says so.",
        least=1,
    ),
    FlagSpec(
        "dgc_sparsity_strategy",
        "string",
        "0.75,0.9375,0.984375,0.996,0.999",
        "Share of gradients held back in each epoch.",
    ),
    FlagSpec(
        "dgc_momentum_type",
        "string",
        "vanilla",
        "Momentum of compressed gradients.",
        ("vanilla", "nesterov"),
    ),
    FlagSpec("dgc_momentum", "float", 0.9, "Factor of this momentum.", least=0),
    FlagSpec(
        "dgc_momentum_factor_masking",
        "boolean",
        True,
        "Drop the momentum of gradients that were sent.",
    ),
    FlagSpec(
        "dgc_total_samples",
        "integer",
        None,
        "Samples of an epoch in `dgc_sparsity_strategy`.",
        least=1,
    ),
    FlagSpec("log_first_clone", "boolean", True, "Log the first device's values; else the mean."),
    FlagSpec("use_fp16", "boolean", False, "Compute in float16 with float32 variables."),
    FlagSpec("use_bf16", "boolean", False, "Compute in bfloat16 with float32 variables."),
    FlagSpec("loss_scale", "float", 1.0, "Factor of the loss against float16 underflow."),
    FlagSpec("dynamic_loss_scale", "boolean", False, "Change the loss scale when it overflows."),
    FlagSpec(
        "accumulate_steps",
        "integer",
        1,
        "Batches of each device whose mean gradient makes one step.",
        least=1,
        most=_MOST_BATCHES,
    ),
    FlagSpec(
        "recompute",
        "boolean",
        False,
        "Compute activations again in back-propagation instead of keeping them.",
    ),
    FlagSpec("gradient_clip_norm", "float", None, "Largest global norm of the gradients."),
    FlagSpec("gradient_clip_value", "float", None, "Largest absolute value in a gradient."),
    FlagSpec("gradient_clip", "float", None, "MoXing's name for one of these limits."),
    FlagSpec(
        "gradient_clip_type", "string", "norm", "Which limit `gradient_clip` is.", ("norm", "value")
    ),
    FlagSpec("ema_decay", "float", None, "Decay of moving averages of the trained weights."),
    FlagSpec("use_ema", "boolean", False, "Evaluate and export these averages, not the weights."),
    FlagSpec(
        "keep_checkpoint_every_n_hours",
        "float",
        None,
        "Hours after which another checkpoint is kept for good.",
    ),
    FlagSpec("sync_save", "boolean", False, "Write large checkpoints before the next step."),
    FlagSpec(
        "checkpoint_include_patterns", "string", None, "Restore variables that match a pattern."
    ),
    FlagSpec(
        "checkpoint_exclude_patterns",
        "string",
        None,
        "Do not restore variables that match a pattern.",
    ),
    FlagSpec("trainable_include_patterns", "string", None, "Train variables that match a pattern."),
    FlagSpec(
        "trainable_exclude_patterns", "string", None, "Do not train variables that match a pattern."
    ),
    FlagSpec(
        "summary_verbosity",
        "integer",
        0,
        "From 1 on, logged values at each summary too; from 2 on, histograms of variables.",
        least=0,
    ),
    FlagSpec(
        "profile_steps", "string", None, "Steps to profile, as N:M; M itself is not profiled."
    ),
    FlagSpec(
        "num_inter_threads",
        "integer",
        0,
        "Threads that run operations; 0: automatic.",
        least=0,
        most=_MOST_THREADS,
    ),
    FlagSpec(
        "num_intra_threads",
        "integer",
        0,
        "Threads within an operation; 0: automatic.",
        least=0,
        most=_MOST_THREADS,
    ),
    FlagSpec("dry_run", "boolean", False, "Try one step, in a folder that is removed."),
    FlagSpec(
        "seed",
        "integer",
        None,
        "Fixes every random number; not given: new ones each run.",
        least=-_INT64,
        most=_INT64 - 1,
    ),
)
FLAG_NAMES: Final = frozenset(spec.name for spec in TABLE)


def get_help() -> str:
    """Returns a description of every runtime flag."""
    return "\n".join(f"--{spec.name}={spec.default!s}  ({spec.kind}) {spec.help}" for spec in TABLE)
