"""The names of the files that record a run, and of the lock file of a run."""

from __future__ import annotations

from typing import Final

METRICS: Final = "metrics.jsonl"
REPORT: Final = "report.html"
RUN: Final = "run.json"
LOCK: Final = ".mox.lock"
# In each best checkpoint that is a folder: the metric and the value.
BEST_RECORD: Final = "best.json"
# The files that a run needs to continue the records of an earlier run.
KEPT: Final = (METRICS, RUN)
