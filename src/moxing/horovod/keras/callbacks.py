"""`horovod.keras.callbacks`: classes made at first access, for the Keras package in use then."""

from __future__ import annotations

from typing import Any

from moxing.horovod import callbacks as _callbacks

_NAMES = (
    "BroadcastGlobalVariablesCallback",
    "LearningRateScheduleCallback",
    "LearningRateWarmupCallback",
    "MetricAverageCallback",
)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'horovod.keras.callbacks' has no attribute {name!r}")
    for each, kind in vars(_callbacks.make()).items():
        globals()[each] = kind
    return globals()[name]
