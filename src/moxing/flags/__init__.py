"""Runtime flags, below the dialects that read them. Importing this room imports no TensorFlow."""

from __future__ import annotations

from moxing.flags.table import (
    AUTO,
    CLUSTER_FLAGS,
    COMPRESSED,
    FLAG_NAMES,
    REPLICATED,
    TABLE,
    FlagSpec,
    get_help,
)
from moxing.flags.values import (
    check_supported,
    cluster_flags,
    consume,
    get_flag,
    given,
    overridden,
    patterns,
    read_command_line,
    register,
    set_flag,
)

__all__ = [
    "AUTO",
    "CLUSTER_FLAGS",
    "COMPRESSED",
    "FLAG_NAMES",
    "REPLICATED",
    "TABLE",
    "FlagSpec",
    "check_supported",
    "cluster_flags",
    "consume",
    "get_flag",
    "get_help",
    "given",
    "overridden",
    "patterns",
    "read_command_line",
    "register",
    "set_flag",
]
