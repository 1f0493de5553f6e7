"""`horovod.tensorflow.keras.callbacks`."""

from __future__ import annotations

from typing import Any

from moxing.horovod.keras import callbacks as _callbacks


def __getattr__(name: str) -> Any:
    return getattr(_callbacks, name)
