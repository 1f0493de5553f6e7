"""Computes a digest of the program, to compare it between processes."""

from __future__ import annotations

import hashlib
import sys


def facts() -> dict[str, str]:
    """The digest of the program's text, by its name for messages; empty without a file."""
    try:
        with open(sys.argv[0], "rb") as script:
            return {"the text of the script": hashlib.sha256(script.read()).hexdigest()[:12]}
    except OSError:
        return {}
