"""Flags of MoXing that have no effect in openmox: a warning names the alternative."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from absl import flags as absl_flags

from moxing.logs import TENSORFLOW

_BY_ITSELF = "openmox decides that by itself"
IDLE: Final = {
    "chief_inc_global_step": _BY_ITSELF,
    "clone_on_cpu": "hide the GPUs: CUDA_VISIBLE_DEVICES= (nothing)",
    "controller_host": "there is no controller: worker 0 leads",
    "local_parameter_device": "see --variable_update",
    "min_size_in_kb": _BY_ITSELF,
    "num_prefetch_threads": _BY_ITSELF,
    "running_log_level": "set the level of the logger 'tensorflow'",
    "server_protocol": "processes speak gRPC",
    "sync_before_server": _BY_ITSELF,
    "var_dtype": "see --use_fp16 and --use_bf16",
    "var_mix_offset": _BY_ITSELF,
    "var_space_starter": _BY_ITSELF,
    "warmup_steps": "give the optimizer a learning rate that rises",
}
_told: set[str] = set()
_kept: dict[str, Any] = {}


def warn(argv: Sequence[str] | None = None) -> None:
    """Warns once about each such flag on the command line.

    A flag that the program defines itself is the program's.

    Args:
        argv: the arguments without the program's name; default: the process's arguments.
    """
    for argument in sys.argv[1:] if argv is None else argv:
        if argument == "--":
            return
        name = argument.lstrip("-").partition("=")[0]
        if not argument.startswith("-") or name not in IDLE or name in _told:
            continue
        _told.add(name)
        if name not in absl_flags.FLAGS:
            TENSORFLOW.warning(
                "--%s, a flag of MoXing, does nothing in openmox: %s. If the program reads the"
                " flag itself, all is well.",
                name,
                IDLE[name],
            )


def keep(name: str, value: Any) -> None:
    """Warns once about such a flag, and keeps the value that the program gives it."""
    warn([f"--{name}"])
    _kept[name] = value


def value(name: str) -> Any:
    """Returns the value that the program gave such a flag, or None; warns once."""
    warn([f"--{name}"])
    return _kept.get(name)
