"""`horovod.tensorflow.keras`."""

from __future__ import annotations

from moxing.horovod.keras import *  # noqa: F403
from moxing.horovod.keras import __all__ as __all__
from moxing.horovod.keras import callbacks as callbacks
