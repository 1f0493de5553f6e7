"""What a process's program is, to be compared with that of the others."""

from __future__ import annotations

import hashlib
import sys


def facts() -> dict[str, str]:
    """The digest of the program's text by the words of an error; empty where it has no file."""
    try:
        with open(sys.argv[0], "rb") as script:
            return {"the text of the script": hashlib.sha256(script.read()).hexdigest()[:12]}
    except OSError:
        return {}
