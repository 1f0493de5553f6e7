"""Works on the checkpoints of runs that ended: lists, compares, averages, copies, removes them."""

from __future__ import annotations

from moxing import native_noise


def start_tensorflow() -> None:
    """Imports TensorFlow without its complaint about a missing driver.

    Called before the modules that read values are imported; `listing` needs no TensorFlow.
    """
    with native_noise.dropped():
        from moxing.engine.graph import devices

        devices.has_gpu()
