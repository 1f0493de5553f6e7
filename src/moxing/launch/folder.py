"""Chooses the folder that keeps the output of a job's tasks."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from moxing.errors import MoxValueError, shown


def log_folder(given: str | None, script: str) -> Path:
    """Returns the user's folder, or a new one in `mox-logs` that is named after the script.

    Raises:
        MoxValueError: the user named a URL, not a folder of this machine.
    """
    if given and re.match(r"[A-Za-z0-9]+://", given):
        raise MoxValueError(
            f"--logs={shown(given, plain=True)}: the output of the tasks is kept on this machine;"
            " name a local folder. mox.file.copy_parallel takes it to a store afterwards."
        )
    if given:
        return Path(given)
    now = time.strftime("%Y%m%d-%H%M%S")
    return Path("mox-logs") / f"{Path(script).stem}-{now}-{os.getpid()}"
