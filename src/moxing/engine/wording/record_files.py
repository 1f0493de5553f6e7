"""The names of the files that tell of a run, and of the lock that it holds."""

from __future__ import annotations

from typing import Final

METRICS: Final = "metrics.jsonl"
REPORT: Final = "report.html"
RUN: Final = "run.json"
LOCK: Final = ".mox.lock"
# What a run reads that goes on with an earlier one.
KEPT: Final = (METRICS, RUN)
