"""The name prefix that tells which device's replica an operation or a variable belongs to."""

from __future__ import annotations

from typing import Final

# Beginning of the name scope of each replica after the first, and of its copies of variables.
PREFIX: Final = "openmox_replica_"
