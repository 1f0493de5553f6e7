"""The runtime flags under the path and name that programs know."""

from __future__ import annotations

from moxing import flags as mox_flags

__all__ = ["mox_flags"]
