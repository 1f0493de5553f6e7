"""Where the output of a job's tasks is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path


def log_folder(given: str | None, script: str) -> Path:
    """The folder that the user named, or a new one in `mox-logs`, named after the script."""
    if given:
        return Path(given)
    now = time.strftime("%Y%m%d-%H%M%S")
    return Path("mox-logs") / f"{Path(script).stem}-{now}-{os.getpid()}"
