"""`moxing.tensorflow.flags`: the module from which programs import the runtime flags."""

from __future__ import annotations

from moxing.flags import (
    FLAG_NAMES,
    TABLE,
    FlagSpec,
    get_flag,
    get_help,
    set_flag,
)

__all__ = ["FLAG_NAMES", "TABLE", "FlagSpec", "get_flag", "get_help", "set_flag"]
