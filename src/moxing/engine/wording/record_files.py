"""The files that tell of a run, and the one way to write them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

METRICS: Final = "metrics.jsonl"
REPORT: Final = "report.html"
RUN: Final = "run.json"
# What a run reads that goes on with an earlier one.
KEPT: Final = (METRICS, RUN)


def replace(path: str, content: Iterable[bytes]) -> None:
    """Replaces a file in one step, so that nobody finds half of it.

    Args:
        path: the file.
        content: its parts.

    Raises:
        OSError: it can't be written; what was there is unchanged.
    """
    folder, name = os.path.split(path)
    aside = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            file.writelines(content)
        os.replace(aside, path)
    except OSError:
        if os.path.exists(aside):
            os.remove(aside)
        raise
