"""How the name of an operation or variable tells which device's replica it belongs to."""

from __future__ import annotations

from typing import Final

# Name scope of a replica after the first, and root of the names of its copies of variables.
PREFIX: Final = "openmox_replica_"
