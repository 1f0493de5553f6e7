"""The names of the files that tell of a run."""

from __future__ import annotations

from typing import Final

METRICS: Final = "metrics.jsonl"
REPORT: Final = "report.html"
RUN: Final = "run.json"
# What a run reads that goes on with an earlier one.
KEPT: Final = (METRICS, RUN)
