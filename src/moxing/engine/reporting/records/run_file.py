"""Reads `run.json`, which records a run's job and its end. Does not import TensorFlow."""

from __future__ import annotations

import json
from typing import Any, Final

FORMAT: Final = 1
# The `end` in the outcome of a run that neither failed nor was stopped.
FINISHED: Final = "finished"
_TABLES: Final = ("job", "flags", "environment", "outcome")


def decode(content: bytes) -> dict[str, Any] | None:
    """Returns the facts of a run; None if the content is damaged or of another format."""
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(facts, dict) and facts.get("format") == FORMAT
    return facts if whole and all(isinstance(facts.get(name), dict) for name in _TABLES) else None
